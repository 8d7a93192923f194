#!/usr/bin/env python3
"""Do the pages and tables of the repository hold together?

  check_docs.py

* every relative link of every Markdown page leads to a file,
* every code of the diagnostic tables is unique and has the letter of its table,
* every diagnostic id is used somewhere in the sources,
* no file names a path of somebody's machine.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, capture_output=True, check=True)
    return [name for name in listed.stdout.decode().split("\0") if name and os.path.exists(os.path.join(ROOT, name))]


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8", errors="replace") as file:
        return file.read()


def bad_links():
    for page in tracked("*.md"):
        text = re.sub(r"(?s)```.*?```", "", read(page))
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path = target.split("#")[0]
            if "://" in target or not path:
                continue
            if not os.path.exists(os.path.join(ROOT, os.path.dirname(page), path)):
                yield f"{page}: the link to '{target}' leads nowhere"


def bad_diagnostics():
    sources = "\n".join(read(name) for name in tracked("*.cc", "*.h"))
    codes = {}
    for table in tracked("include/hlokit/diagnostics*.def"):
        for identifier, code in re.findall(r'HLOKIT_DIAGNOSTIC\((\w+), "(\w+)"', read(table)):
            if code in codes:
                yield f"{table}: {code} is both {codes[code]} and {identifier}"
            codes[code] = identifier
            if not re.match(r"[A-Z]\d{3}$", code):
                yield f"{table}: {code} is not a letter and three digits"
            if not re.search(rf"DiagId::{identifier}\b", sources):
                yield f"{table}: nothing gives {code} ({identifier})"


def machine_paths():
    pattern = re.compile(r"(^|[\s\"'(=])/(work|root|home)/\w")
    for name in tracked("*.md", "*.cc", "*.h", "*.py", "*.sh", "*.txt", "*.cmake", "*.json", ".ci/run"):
        for number, line in enumerate(read(name).split("\n"), 1):
            if pattern.search(line):
                yield f"{name}:{number}: names a path of a machine"


def main():
    problems = [*bad_links(), *bad_diagnostics(), *machine_paths()]
    for problem in problems:
        print(problem)
    print(f"docs: {len(tracked('*.md'))} pages, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
