#!/usr/bin/env python3
"""--max-memory and --timeout end a command with exit code 7, a message, and no output.

  limits.py --bin build/release
"""
import argparse
import os
import subprocess
import sys
import tempfile

from linear_growth import module

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "..", "examples", "attention.hlo")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds the programs")
    args = parser.parse_args()
    hlokit, hlo_opt = os.path.join(args.bin, "hlokit"), os.path.join(args.bin, "hlo-opt")
    problems = []

    def expect(command, code, words):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        output = os.path.exists(out)
        if done.returncode != code or words not in done.stderr or (code != 0 and (done.stdout or output)):
            problems.append(f"{' '.join(command)}: exit code {done.returncode}, expected {code} and '{words}': {done.stderr[-300:]}")

    with tempfile.TemporaryDirectory() as folder:
        large, out = os.path.join(folder, "large.hlo"), os.path.join(folder, "out.hlo")
        with open(large, "w", encoding="utf-8") as file:
            file.write(module(200000)[0])
        for program in ([hlokit, "assign"], [hlo_opt, "--passes=layout-assignment"]):
            expect([*program, large, "-o", out, "--max-memory", "30M"], 7, "U002")
            expect([*program, large, "-o", out, "--timeout", "0.01"], 7, "U003")
        expect([hlokit, "--max-memory", "2G", "--timeout", "100", "stats", EXAMPLE], 0, "")
        expect([hlokit, "stats", EXAMPLE, "--max-memory", "0"], 0, "")
        expect([hlokit, "assign", large, "-o", out, "--max-memory", "0.5"], 7, "U002")
        expect([hlokit, "stats", EXAMPLE, "--max-memory", "much"], 2, "is no size")
        expect([hlokit, "stats", EXAMPLE, "--max-memory", "1X"], 2, "is no size")
        expect([hlokit, "stats", EXAMPLE, "--timeout", "-1"], 2, "is no number of seconds")
    for problem in problems:
        print(problem)
    print(f"limits: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
