#!/usr/bin/env python3
"""Reading what hlokit prints, and printing it again, must change nothing but the order of computations.

  run_roundtrip.py --bin build/release [--show N]

For every golden input and example: fmt, then fmt of that; the same for the recorded results of layout
assignment. The order of computations follows the stored order of instructions, which printing changes, so
the first time they may change places; the second time they must not.
"""
import argparse
import concurrent.futures
import difflib
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))


def fmt(binary, text, flags=()):
    done = subprocess.run([binary, "fmt", *flags, "-"], input=text, capture_output=True, timeout=120)
    return done.stdout if done.returncode == 0 else b"failed: " + done.stderr


def blocks(text):
    """Header and computations, in a fixed order."""
    return sorted(block.strip() for block in text.split(b"\n\n"))


def check(job):
    """-> empty, or what is wrong."""
    binary, path, is_print = job
    with open(path, "rb") as file:
        text = file.read()
    once = text if is_print else fmt(binary, text)
    if once.startswith(b"failed: "):
        return ""  # modules that must be refused are the business of run_golden.py
    # Bodies of fusions have no layouts after layout assignment, which must stay so.
    flags = ["--no-fill"] if is_print else []
    twice = fmt(binary, once, flags)
    if blocks(twice) != blocks(once):
        lines = difflib.unified_diff(once.decode().split("\n"), twice.decode("utf-8", "replace").split("\n"), lineterm="", n=0)
        return "changes when read again\n  " + "\n  ".join(line[:300] for line in list(lines)[:8])
    if twice.rstrip() != once.rstrip() and fmt(binary, twice, flags) != twice:
        return "the order of computations changes more than once"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds hlokit")
    parser.add_argument("--show", type=int, default=5, help="show at most this many failures")
    args = parser.parse_args()
    binary = os.path.join(args.bin, "hlokit")
    inputs = sorted(glob.glob(os.path.join(HERE, "data/inputs/*/*.hlo")) + glob.glob(os.path.join(ROOT, "examples/*.hlo")))
    prints = sorted(glob.glob(os.path.join(HERE, "data/layout-assignment/*/*.hlo")))
    jobs = [(binary, path, False) for path in inputs] + [(binary, path, True) for path in prints]
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (_, path, _), problem in zip(jobs, pool.map(check, jobs)):
            bad += bool(problem)
            if problem and bad <= args.show:
                print(f"{os.path.relpath(path, ROOT)}: {problem}")
    print(f"round trip: {len(jobs) - bad} of {len(jobs)} stay the same")
    return 1 if bad or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
