#!/usr/bin/env python3
"""hlokit reduce: smaller, valid, the same for any number of threads, and still showing it.

  reduce.py --bin build/release
"""
import argparse
import os
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# The copy in front of the dot is all that matters; the loop and the rest are in the way.
MODULE = """HloModule m, entry_computation_layout={(f32[4,5]{1,0}, f32[8]{0})->(f32[4,5]{1,0}, f32[8]{0}, f32[4,5]{0,1})}

body {
  p = (s32[], f32[8]{0}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = f32[8]{0} get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[8]{0} multiply(x, x)
  ROOT t = (s32[], f32[8]{0}) tuple(j, y)
}

cond {
  q = (s32[], f32[8]{0}) parameter(0)
  k = s32[] get-tuple-element(q), index=0
  n = s32[] constant(3)
  ROOT less = pred[] compare(k, n), direction=LT
}

ENTRY main {
  a = f32[4,5]{1,0} parameter(0), metadata={op_name="a"}
  b = f32[8]{0} parameter(1)
  c = f32[4,5]{1,0} negate(a)
  d = f32[4,5]{1,0} exponential(c)
  s = f32[4,5]{1,0} custom-call(d), custom_call_target="wants", operand_layout_constraints={f32[4,5]{0,1}}
  zero = s32[] constant(0)
  init = (s32[], f32[8]{0}) tuple(zero, b)
  w = (s32[], f32[8]{0}) while(init), condition=cond, body=body
  r = f32[8]{0} get-tuple-element(w), index=1
  ROOT out = (f32[4,5]{1,0}, f32[8]{0}, f32[4,5]{0,1}) tuple(s, r, s)
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds the programs")
    program = os.path.join(parser.parse_args().bin, "hlokit")
    problems = []

    def run(*words, code=0):
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=300)
        if done.returncode != code:
            problems.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}: {done.stderr[:300]}")
        return done

    def lines(text):
        return sum(1 for line in text.split("\n") if line.startswith("  "))

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.hlo")
        with open(path, "w", encoding="utf-8") as file:
            file.write(MODULE)
        small = run("reduce", path, "--keep", "copy:copy", "--threads", "1").stdout
        if "while" in small or "exponential" in small or lines(small) > 3:
            problems.append(f"copy: not small:\n{small}")
        if "custom-call" not in small:
            problems.append(f"copy: the reader is gone:\n{small}")
        if run("reduce", path, "--keep", "copy:copy", "--threads", "3").stdout != small:
            problems.append("the number of threads changes the result")
        # The result is valid and still gets the copy.
        result = os.path.join(folder, "small.hlo")
        run("reduce", path, "--keep", "copy:copy", "-o", result, "--quiet")
        run("verify", result)
        if "copy" not in run("assign", result).stdout:
            problems.append("the result does not get the copy")
        # A command.
        text = run("reduce", path, "--keep-cmd", "grep -q multiply {}", "--quiet").stdout
        if "multiply" not in text or lines(text) > 2:
            problems.append(f"command: not small:\n{text}")
        # An error: a custom call and an alias that cannot agree, for instance a bitcast.
        bad = os.path.join(folder, "bad.hlo")
        with open(bad, "w", encoding="utf-8") as file:
            file.write(MODULE.replace("d = f32[4,5]{1,0} exponential(c)", "d = f32[4,5]{1,0} bitcast(c)"))
        text = run("reduce", bad, "--keep-error", "--quiet").stdout
        if "bitcast" not in text or lines(text) > 2:
            problems.append(f"error: not small:\n{text}")
        # What is wrong.
        for words, code, mark in ((["--keep-error"], 1, "S001"), (["--keep-cmd", "false {}"], 1, "S001"),
                                  (["--keep-cmd", "true"], 2, "S002"),
                                  (["--keep-cmd", "no-such-program-here {}"], 2, "S003"), (["--keep", "x"], 2, "S002"),
                                  ([], 2, "S002"), (["--keep", "copy:nothing"], 2, "C001")):
            done = run("reduce", path, *words, code=code)
            if mark not in done.stderr or done.stdout:
                problems.append(f"{words}: {done.stderr[:200]}")
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
