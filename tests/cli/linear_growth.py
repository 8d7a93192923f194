#!/usr/bin/env python3
"""Does the work grow linearly with the module? Counts executed instructions, not seconds.

  linear_growth.py --bin build/release [--sizes 8000,16000,32000]

Runs commands under `valgrind --tool=callgrind` on generated modules of three sizes or more. The cost of one
more instruction of the module must be nearly the same between each pair of neighbouring sizes: linear work
has a ratio of 1, n log n about 1.1, quadratic work 4. By hand: --sizes 10000,100000,1000000 (minutes).
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

MOST = 1.25  # by how much the cost of one more instruction may rise from one pair of sizes to the next

COMMANDS = [["hlokit", "fmt", "IN"], ["hlokit", "stats", "IN"], ["hlokit", "verify", "IN"], ["hlokit", "assign", "IN"],
            ["hlokit", "explain", "IN"], ["hlokit", "trace", "IN"], ["hlokit", "diff", "IN", "IN"],
            ["hlokit", "convert", "IN", "--to", "proto", "-o", "OUT"],
            ["hlo-opt", "--passes=layout-assignment,copy-insertion,tuple-simplifier,dce", "IN"]]


def module(size):
    """A long chain of transposes, matrix products and reshapes with demands for both layouts."""
    lines, value, i = ["  %p.0 = f32[64,64]{1,0} parameter(0)", "  %w = f32[64,64]{0,1} parameter(1)"], "%p.0", 0
    while len(lines) < size - 1:
        lines += [f"  %t.{i} = f32[64,64]{{1,0}} transpose({value}), dimensions={{1,0}}",
                  f"  %d.{i} = f32[64,64]{{1,0}} dot(%t.{i}, %w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
                  f"  %r.{i} = f32[4096]{{0}} reshape(%d.{i})",
                  f"  %b.{i} = f32[64,64]{{1,0}} reshape(%r.{i})",
                  f"  %c.{i} = f32[64,64]{{0,1}} custom-call(%b.{i}), custom_call_target=\"column_major\", "
                  f"operand_layout_constraints={{f32[64,64]{{0,1}}}}",
                  f"  %x.{i} = f32[64,64]{{1,0}} add(%c.{i}, {value})"]
        value, i = f"%x.{i}", i + 1
    lines.append(f"  ROOT %root = f32[64,64]{{1,0}} negate({value})")
    head = "HloModule growth, entry_computation_layout={(f32[64,64]{1,0}, f32[64,64]{0,1})->f32[64,64]{1,0}}"
    return head + "\n\nENTRY %main {\n" + "\n".join(lines) + "\n}\n", len(lines)


def executed(command):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode > 1 or not found:
        sys.exit(f"linear growth: {' '.join(command)} failed\n{done.stderr[-2000:]}")
    return int(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds the programs")
    parser.add_argument("--sizes", default="8000,16000,32000", help="instructions of the modules, ascending")
    args = parser.parse_args()
    if not shutil.which("valgrind"):
        print("linear growth: valgrind is not installed")
        return 77
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        inputs = []
        for size in map(int, args.sizes.split(",")):
            text, count = module(size)
            inputs.append((count, os.path.join(folder, f"{size}.hlo")))
            with open(inputs[-1][1], "w", encoding="utf-8") as file:
                file.write(text)
        for command in COMMANDS:
            counts = []
            for _, path in inputs:
                words = [{"IN": path, "OUT": os.path.join(folder, "out.pb")}.get(word, word) for word in command]
                counts.append(executed([os.path.join(args.bin, words[0]), *words[1:]]))
            slopes = [(counts[k + 1] - counts[k]) / (inputs[k + 1][0] - inputs[k][0]) for k in range(len(inputs) - 1)]
            ratio = max(after / before for before, after in zip(slopes, slopes[1:]))
            bad += ratio > MOST
            print(f"{' '.join(command[:2]):<40.40} executed per instruction: {', '.join(f'{s:.0f}' for s in slopes)}"
                  + (f"  grows by {ratio:.2f}" if ratio > MOST else ""))
    print(f"linear growth: {len(COMMANDS) - bad} of {len(COMMANDS)} commands are linear")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
