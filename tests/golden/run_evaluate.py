#!/usr/bin/env python3
"""Compares what `hlokit run` computes with what XLA's reference evaluator computed.

  run_evaluate.py --bin build/release [--data FOLDER] [--name N] [--show N]

FOLDER holds inputs/evaluate/NAME.hlo and evaluate/evaluate/NAME.result.txt, one line per leaf of the result.
Modules in exact.txt must agree in every value (zeros of either sign are equal); in the others floats may be
16 units in the last place apart, and integers that follow from such floats may differ.
"""
import argparse
import concurrent.futures
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ULPS = 16
# Explicit mantissa bits and the exponent of the smallest normal number.
FORMATS = {"f64": (52, -1022), "c128": (52, -1022), "f32": (23, -126), "c64": (23, -126), "bf16": (7, -126),
           "f16": (10, -14), "f8e5m2": (2, -14), "f8e4m3": (3, -6), "f8e3m4": (4, -2), "f8e4m3fn": (3, -6),
           "f8e4m3fnuz": (3, -7), "f8e4m3b11fnuz": (3, -10), "f8e5m2fnuz": (2, -15), "f8e8m0fnu": (0, -127),
           "f4e2m1fn": (1, 0), "f6e3m2fn": (2, -2), "f6e2m3fn": (3, 0)}


def number(token):
    return math.nan if token == "nan" else float.fromhex(token)


def unit(kind, magnitude):
    mantissa, smallest = FORMATS[kind]
    exponent = math.frexp(magnitude)[1] - 1 if magnitude else smallest
    return math.ldexp(1.0, max(exponent, smallest) - mantissa)


def close(kind, want, got):
    """Elements as lists of one or two numbers; the larger component sets the unit."""
    scale = max((abs(x) for x in want + got if math.isfinite(x)), default=0.0)
    for a, b in zip(want, got):
        if a == b or (a != a and b != b):
            continue
        if not (math.isfinite(a) and math.isfinite(b)) or abs(a - b) > ULPS * unit(kind, scale):
            return False
    return True


def compare(want, got, exact):
    want, got = want.split("\n"), got.split("\n")
    if len(want) != len(got):
        return f"{len(got) - 1} leaves, the reference has {len(want) - 1}"
    for line, (w, g) in enumerate(zip(want, got)):
        if w == g:
            continue
        a, b = w.split(" "), g.split(" ")
        if len(a) != len(b) or a[:2] != b[:2]:
            return f"leaf {line}: {' '.join(b[:2])} with {len(b) - 2} values, the reference has {' '.join(a[:2])} with {len(a) - 2}"
        kind = a[1].split("[")[0]
        for i, (x, y) in enumerate(zip(a[2:], b[2:])):
            if x == y:
                continue
            if kind not in FORMATS:
                if exact:
                    return f"leaf {line} element {i}: {y}, the reference has {x}"
                continue
            u, v = ([number(t) for t in token.split(",")] for token in (x, y))
            same = all(p == q or (p != p and q != q) for p, q in zip(u, v))
            if not (same if exact else close(kind, u, v)):
                return f"leaf {line} element {i}: {y}, the reference has {x}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--data", default=os.path.join(HERE, "data"))
    parser.add_argument("--name")
    parser.add_argument("--show", type=int, default=5)
    args = parser.parse_args()
    folder = os.path.join(args.data, "evaluate", "evaluate")
    with open(os.path.join(folder, "exact.txt"), encoding="utf-8") as file:
        exact = set(file.read().split())
    names = sorted(f[:-11] for f in os.listdir(folder) if f.endswith(".result.txt"))
    names = [n for n in names if args.name in (None, n)]

    def check(name):
        done = subprocess.run([os.path.join(args.bin, "hlokit"), "run", "--inputs", "golden-rule", "--format", "golden",
                               os.path.join(args.data, "inputs", "evaluate", name + ".hlo")],
                              capture_output=True, timeout=120)
        if done.returncode != 0:
            return f"exit {done.returncode}: {done.stderr.decode('utf-8', 'replace')[:300]}"
        with open(os.path.join(folder, name + ".result.txt"), encoding="utf-8") as file:
            return compare(file.read(), done.stdout.decode(), name in exact)

    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, problem in zip(names, pool.map(check, names)):
            if problem:
                bad += 1
                if bad <= args.show:
                    print(f"{name}: {problem}")
    print(f"{len(names) - bad} of {len(names)} equal, {len(exact & set(names))} of them to be exact")
    return 1 if bad or not names else 0


if __name__ == "__main__":
    sys.exit(main())
