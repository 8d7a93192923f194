#!/usr/bin/env python3
"""Compares hlokit's output with the reference results of tests/golden/data, byte for byte.

  run_golden.py --bin build/release [--pass P] [--set S] [--name N] [--show N]

Only passes listed in tests/golden/implemented.txt are run. Exit status 0 when all results are equal.
tests/golden/README.md describes the data.
"""
import argparse
import concurrent.futures
import difflib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

COMMANDS = {
    "print": ["hlokit", "fmt"],
    "layout-assignment": ["hlokit", "assign"],
    "layout-assignment-unset": ["hlokit", "assign", "--entry-layouts", "unset"],
    "layout-assignment-reverse": ["hlokit", "assign", "--reverse"],
    "cpu-layout-assignment": ["hlokit", "assign", "--backend", "cpu"],
    **{f"gpu-layout-assignment-{device}": ["hlokit", "assign", "--backend", "gpu", "--device", device]
       for device in ("sm_70", "sm_80", "sm_90", "sm_100", "gfx90a")},
    "layout-normalization-of-gpu-sm_80": [
        "hlo-opt", "--passes=layout-assignment{backend=gpu device=sm_80},layout-normalization"],
    "dce": ["hlo-opt", "--passes=dce"],
    "tuple-simplifier": ["hlo-opt", "--passes=tuple-simplifier"],
    "flatten-call-graph": ["hlo-opt", "--passes=flatten-call-graph"],
    "layout-normalization-of-base": ["hlo-opt", "--passes=layout-assignment,layout-normalization"],
    "all-reduce-combiner": ["hlo-opt", "--passes=all-reduce-combiner{key=stock}"],
    "all-reduce-combiner-small": ["hlo-opt", "--passes=all-reduce-combiner{key=stock bytes=256 count=2}"],
    "all-gather-combiner": ["hlo-opt", "--passes=all-gather-combiner{key=stock}"],
    "all-gather-combiner-any-dim": ["hlo-opt", "--passes=all-gather-combiner{key=stock by-dim=false}"],
    "reduce-scatter-combiner": ["hlo-opt", "--passes=reduce-scatter-combiner{key=stock}"],
}


def read(path):
    with open(path, "rb") as file:
        return file.read()


def names_in(path):
    return read(path).decode().split() if os.path.exists(path) else []


def implemented():
    lines = read(os.path.join(HERE, "implemented.txt")).decode().split("\n")
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def manifest_flags(entry):
    """Scenarios carry options of their own; without a channel table unless the scenario has one."""
    flags = [] if entry.get("channel_table") else ["--no-channel-table"]
    if entry.get("reverse"):
        flags.append("--reverse")
    if entry.get("row_reduction"):
        flags.append("--row-reduction")
    if entry.get("fill_missing_layouts") is False:
        flags.append("--no-fill")
    return flags


def jobs(data, passes, want_set, want_name):
    """-> (pass, set, name, extra flags, files with an acceptable result; none = must be refused)."""
    for pass_name in passes:
        for set_name in sorted(os.listdir(os.path.join(data, pass_name))):
            if want_set and set_name != want_set:
                continue
            folder = os.path.join(data, pass_name, set_name)
            manifest_path = os.path.join(data, "inputs", set_name, "manifest.json")
            manifest = json.loads(read(manifest_path)) if os.path.exists(manifest_path) else None
            expected = {name: [os.path.join(data, "print", set_name, name + ".after.hlo")]
                        for name in names_in(os.path.join(folder, "unchanged.txt"))}
            for file_name in sorted(os.listdir(folder)):
                path = os.path.join(folder, file_name)
                if file_name.endswith(".fails"):
                    expected[file_name.removesuffix(".fails")] = []
                elif ".after." in file_name:
                    expected.setdefault(file_name.split(".after.")[0], []).append(path)
            for name, files in sorted(expected.items()):
                if want_name in (None, name):
                    flags = [] if manifest is None else manifest_flags(manifest[name])
                    yield pass_name, set_name, name, flags, files


def check(job, data, bin_dir):
    """-> empty when the result is right, else what is wrong."""
    pass_name, set_name, name, flags, files = job
    program, *words = COMMANDS[pass_name]
    source = os.path.join(data, "inputs", set_name, name + ".hlo")
    try:
        done = subprocess.run([os.path.join(bin_dir, program), *words, *flags, source],
                              capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "no answer within 120 s"
    if not files:
        refused = 0 < done.returncode < 70 and not done.stdout and done.stderr
        return "" if refused else f"should be refused with a message, exit code {done.returncode}"
    if done.returncode != 0:
        return f"exit code {done.returncode}\n" + done.stderr.decode("utf-8", "replace")
    wanted = [read(path) for path in files]
    if any(done.stdout.rstrip() == want.rstrip() for want in wanted):
        return ""
    return "differs\n" + "\n".join(difflib.unified_diff(
        wanted[0].decode("utf-8", "replace").split("\n"), done.stdout.decode("utf-8", "replace").split("\n"),
        "reference", "hlokit", lineterm="", n=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds hlokit and hlo-opt")
    parser.add_argument("--pass", dest="want_pass")
    parser.add_argument("--set", dest="want_set")
    parser.add_argument("--name", dest="want_name")
    parser.add_argument("--show", type=int, default=3, help="show at most this many failures")
    args = parser.parse_args()
    data = os.path.join(HERE, "data")
    passes = [p for p in implemented() if p in COMMANDS and os.path.isdir(os.path.join(data, p))
              and args.want_pass in (None, p)]
    score, shown = {}, 0
    todo = list(jobs(data, passes, args.want_set, args.want_name))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for job, problem in zip(todo, pool.map(lambda job: check(job, data, args.bin), todo)):
            good, total = score.get(job[:2], (0, 0))
            score[job[:2]] = good + (not problem), total + 1
            if problem and shown < args.show:
                shown += 1
                print(f"{job[0]} {job[1]}/{job[2]}: " + "\n  ".join(problem.split("\n")[:25]))
    for (pass_name, set_name), (good, total) in sorted(score.items()):
        print(f"{pass_name:32} {set_name:12} {good:4} of {total}")
    good, total = sum(g for g, _ in score.values()), sum(t for _, t in score.values())
    print(f"golden: {good} of {total} equal")
    return 0 if total and good == total else 1


if __name__ == "__main__":
    sys.exit(main())
