#!/usr/bin/env python3
"""Modules that layout assignment must refuse, each with its exit code and diagnostic.

  layout_errors.py --bin build/release

One file per case under tests/cli/layout_errors. Its first lines say what is expected:
  // expect: EXIT-CODE DIAGNOSTIC-CODE
  // flags: FLAGS OF hlokit assign
The same must come of assign, explain and trace, with nothing on standard output and a help line; but
explain answers from the module as it is where a bitcast (L001) shows that it was optimised already.
"""
import argparse
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def check(binary, path):
    """-> list of problems."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    code, diagnostic = re.match(r"// expect: (\d+) (\w+)\n", text).groups()
    flags = re.search(r"(?m)^// flags: (.*)$", text)
    problems = []
    for command in ("assign", "explain", "trace"):
        if command == "explain" and diagnostic == "L001":
            continue  # tests/cli/copies.py
        words = [binary, command, *(flags.group(1).split() if flags else []), path]
        done = subprocess.run(words, capture_output=True, timeout=60)
        err = done.stderr.decode()
        where = f"{command} {os.path.basename(path)}: "
        if done.returncode != int(code):
            problems.append(f"{where}exit code {done.returncode}, expected {code}")
        if f"[{diagnostic}]" not in err:
            problems.append(f"{where}no {diagnostic} in:\n    " + err.strip().replace("\n", "\n    "))
        if done.stdout:
            problems.append(f"{where}{len(done.stdout)} bytes on standard output")
        if diagnostic.startswith("L") and "  help: " not in err:
            problems.append(f"{where}no help line")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds hlokit")
    args = parser.parse_args()
    paths = sorted(glob.glob(os.path.join(HERE, "layout_errors", "*.hlo")))
    problems = [p for path in paths for p in check(os.path.join(args.bin, "hlokit"), path)]
    print("\n".join(problems))
    print(f"layout errors: {len(paths)} modules, {len(problems)} problems")
    return 1 if problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
