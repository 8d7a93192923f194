#!/usr/bin/env python3
"""Runs the console sessions of the pages and compares what they show.

  run_console.py --bin build/release [--update]

In a block marked `console` a line "$ hlokit …" is a command, run in the repository; the lines up to the
next command are its output. A last line "…" cuts the output off. --update writes the pages anew.
"""
import argparse
import difflib
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAMS = ("hlokit", "hlo-opt", "static-io-transpose", "hlo-neff-wrapper")


def pages():
    yield "README.md"
    for folder, _, files in os.walk(os.path.join(ROOT, "docs")):
        for name in sorted(files):
            if name.endswith(".md"):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


def output_of(command, bin_dir):
    path = bin_dir + os.pathsep + os.environ["PATH"]
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, env={**os.environ, "PATH": path, "NO_COLOR": "1"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return done.stdout.decode("utf-8", "replace").rstrip("\n").split("\n")


def rerun(block, bin_dir):
    """The block with the outputs that the commands give now."""
    out = []
    parts = re.split(r"(?m)^(\$ .*)$", block)
    if parts[0].strip():
        raise ValueError("a console block starts with a command")
    for command, shown in zip(parts[1::2], parts[2::2]):
        if command.split()[1] not in PROGRAMS:
            raise ValueError(f"not a program of ours: {command}")
        shown = shown.strip("\n").split("\n")
        now = output_of(command[2:], bin_dir)
        if shown[-1] == "…":
            now = now[:len(shown) - 1] + ["…"]
        out += [command, *[line.rstrip() for line in now], ""]
    return "\n".join(out[:-1]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds the programs")
    parser.add_argument("--update", action="store_true", help="write the outputs into the pages")
    args = parser.parse_args()
    bin_dir = os.path.abspath(args.bin)
    blocks, wrong = 0, 0
    for page in pages():
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            text = file.read()
        parts = re.split(r"(?ms)^(```console\n)(.*?)(^```$)", text)
        for i in range(2, len(parts), 4):
            blocks += 1
            now = rerun(parts[i], bin_dir)
            if now != parts[i]:
                wrong += 1
                if not args.update:
                    print(page)
                    print("\n".join(difflib.unified_diff(parts[i].split("\n"), now.split("\n"), "page", "now", lineterm="", n=1)))
                parts[i] = now
        if args.update and "".join(parts) != text:
            with open(os.path.join(ROOT, page), "w", encoding="utf-8") as file:
                file.write("".join(parts))
            print(f"{page}: written")
    print(f"console sessions: {blocks} blocks, {wrong} {'written anew' if args.update else 'differ'}")
    return 1 if wrong and not args.update else 0


if __name__ == "__main__":
    sys.exit(main())
