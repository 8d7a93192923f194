#!/usr/bin/env python3
"""Runs the checker of the shared reference results for every implemented pass.

  run_golden_shared.py --bin build/release

The reference results and the real modules live beside the repository, in ../shared, and are not part
of it. Exit status 77 (skipped) where they are absent.
"""
import argparse
import os
import subprocess
import sys

from run_golden import HERE, implemented

SHARED = os.path.join(HERE, "..", "..", "..", "shared")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds hlokit and hlo-opt")
    args = parser.parse_args()
    checker = os.path.join(SHARED, "tools", "check_golden.py")
    if not os.path.exists(checker):
        print("golden-shared: skipped, no ../shared beside the repository")
        return 77
    failed = [name for name in implemented()
              if subprocess.run([sys.executable, checker, "--bin", args.bin, "--pass", name]).returncode != 0]
    print("golden-shared: " + (f"not equal: {', '.join(failed)}" if failed else "all equal"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
