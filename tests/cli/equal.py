#!/usr/bin/env python3
"""hlokit run, hlokit equal and hlo-opt --prove as programs: files in and out, exit codes, messages.

  equal.py --bin build/release
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "equal")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    problems = []

    def run(program, *words):
        done = subprocess.run([os.path.join(args.bin, program), *words], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def expect(what, condition, seen):
        if not condition:
            problems.append(f"{what}: {seen}")

    square, turned, wrong = (os.path.join(HERE, name + ".hlo") for name in ("square", "turned", "wrong_layout"))
    code, out, err = run("hlokit", "equal", square, square)
    expect("a module equals itself", code == 0 and out == "bit-equal on 4 sets of inputs\n", (code, out, err))
    code, out, err = run("hlokit", "equal", square, turned)
    expect("a transposed square differs", code == 1 and "element [0,1]" in out, (code, out, err))
    code, out, err = run("hlokit", "equal", square, wrong)
    expect("a bitcast between layouts moves elements", code == 1, (code, out, err))

    with tempfile.TemporaryDirectory() as folder:
        values = numpy.arange(9, dtype=numpy.float32).reshape(3, 3)
        for order in ("C", "F"):
            path = os.path.join(folder, f"p{order}.npy")
            numpy.save(path, numpy.asarray(values, order=order))
            code, out, err = run("hlokit", "run", "--input", f"p={path}", "-o", folder, turned)
            result = numpy.load(os.path.join(folder, "result.npy")) if code == 0 else None
            expect(f"npy in and out, {order} order", code == 0 and (result == -values.T).all(), (code, err))
        code, out, err = run("hlokit", "run", "--input", f"q={path}", turned)
        expect("an unknown parameter is refused", code == 2 and "A005" in err, (code, err))
        numpy.save(path, values.astype(numpy.float64))
        code, out, err = run("hlokit", "run", "--input", f"0={path}", turned)
        expect("another element type is refused", code == 2 and "A005" in err, (code, err))

    code, out, err = run("hlo-opt", "--passes=layout-assignment,layout-normalization", "--prove", square)
    expect("passes are proven", code == 0 and err.count("bit-equal") == 2, (code, err))
    code, out, err = run("hlo-opt", "--passes=io-layout-normalization", "--prove", wrong)
    expect("stamping a bitcast is noticed", code == 5 and not out and "A010" in err, (code, out, err))
    for problem in problems:
        print(problem)
    print(f"equal: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
