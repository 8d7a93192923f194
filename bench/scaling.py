#!/usr/bin/env python3
"""Does the time grow linearly? Whole commands on generated modules of 2 k to 1 M instructions.

  scaling.py --bin build/release --generator gen_modules.py [--sizes 2000,20000,200000,1000000] [--profile base]

The generator is the one in the tools folder beside the project. Prints processor time and peak memory
(of the child, as the kernel counts it) of `hlokit assign` and `hlokit explain` per instruction.
"""
import argparse
import os
import subprocess
import sys
import tempfile


def run(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--bin", required=True)
    ap.add_argument("--generator", required=True)
    ap.add_argument("--sizes", default="2000,20000,200000,1000000")
    ap.add_argument("--profile", default="base")
    args = ap.parse_args()
    hlokit = os.path.join(args.bin, "hlokit")
    print(f"{'instructions':>12} {'MB':>7}   {'assign s':>9} {'us/ins':>7} {'MiB':>6}   {'explain s':>9} {'us/ins':>7} {'MiB':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for size in (int(s) for s in args.sizes.split(",")):
            subprocess.run([sys.executable, args.generator, "--seed", "1", "--count", "1", "--out", folder, "--size", "huge",
                            "--instructions", str(size), "--profile", args.profile], check=True, stdout=subprocess.DEVNULL)
            (name,) = [f for f in os.listdir(folder) if f.endswith(".hlo")]
            path = os.path.join(folder, name)
            a_time, a_memory = run([hlokit, "assign", path])
            e_time, e_memory = run([hlokit, "explain", "--most", "5", path])
            print(f"{size:>12} {os.path.getsize(path) / 1e6:>7.1f}   {a_time:>9.3f} {1e6 * a_time / size:>7.2f} {a_memory:>6.0f}"
                  f"   {e_time:>9.3f} {1e6 * e_time / size:>7.2f} {e_memory:>6.0f}")
            os.unlink(path)


if __name__ == "__main__":
    main()
