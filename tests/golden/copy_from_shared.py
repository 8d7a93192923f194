#!/usr/bin/env python3
"""Copies a fixed part of the shared reference results into tests/golden/data.

  copy_from_shared.py SHARED/golden tests/golden/data

Whole sets: scenarios, cases. Of the others every n-th name in alphabetical order (STEP below), which
keeps the data near 8 MB. The folder layout is that of the source, so both runners can use it.
"""
import json
import os
import shutil
import sys

STEP = {"scenarios": 1, "cases": 1, "generated": 2, "collectives": 5, "evaluate": 2}
# Rules of backends: a smaller part, since most of what they print is what the base pass prints.
BACKEND_PASSES = ["cpu-layout-assignment", "gpu-layout-assignment-sm_70", "gpu-layout-assignment-sm_80",
                  "gpu-layout-assignment-sm_90", "gpu-layout-assignment-sm_100", "gpu-layout-assignment-gfx90a",
                  "layout-normalization-of-gpu-sm_80"]
BACKEND_STEP = 16
PASSES = ["print", "layout-assignment", "layout-assignment-unset", "layout-assignment-reverse", "dce",
          "tuple-simplifier", "flatten-call-graph", "layout-normalization-of-base", "all-reduce-combiner",
          "all-reduce-combiner-small", "all-gather-combiner", "all-gather-combiner-any-dim",
          "reduce-scatter-combiner", "evaluate", "copy-insertion", "copy-insertion-of-base"]


def copy(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target)


def main():
    source, target = sys.argv[1:]
    shutil.rmtree(target, ignore_errors=True)
    size = 0
    for set_name, step in STEP.items():
        inputs = os.path.join(source, "inputs", set_name)
        names = sorted(f[:-4] for f in os.listdir(inputs) if f.endswith(".hlo"))[::step]
        chosen = set(names)
        for name in names:
            copy(os.path.join(inputs, name + ".hlo"), os.path.join(target, "inputs", set_name, name + ".hlo"))
        manifest = os.path.join(inputs, "manifest.json")
        if os.path.exists(manifest):
            with open(manifest, encoding="utf-8") as file:
                entries = {k: v for k, v in json.load(file).items() if k in chosen}
            with open(os.path.join(target, "inputs", set_name, "manifest.json"), "w", encoding="utf-8") as file:
                json.dump(entries, file, indent=1)
                file.write("\n")
        for pass_name in PASSES + BACKEND_PASSES:
            folder = os.path.join(source, pass_name, set_name)
            if not os.path.isdir(folder):
                continue
            if pass_name in BACKEND_PASSES and set_name == "generated":
                chosen = set(names[::BACKEND_STEP // step])
            else:
                chosen = set(names)
            for file_name in sorted(os.listdir(folder)):
                path = os.path.join(folder, file_name)
                if file_name in ("unchanged.txt", "exact.txt"):
                    with open(path, encoding="utf-8") as file:
                        same = [name for name in file.read().split() if name in chosen]
                    if same:
                        os.makedirs(os.path.join(target, pass_name, set_name), exist_ok=True)
                        with open(os.path.join(target, pass_name, set_name, file_name), "w") as file:
                            file.write("\n".join(same) + "\n")
                elif file_name.split(".after.")[0].removesuffix(".fails").removesuffix(".result.txt") in chosen:
                    copy(path, os.path.join(target, pass_name, set_name, file_name))
    for folder, _, files in os.walk(target):
        size += sum(os.path.getsize(os.path.join(folder, f)) for f in files)
    print(f"{size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
