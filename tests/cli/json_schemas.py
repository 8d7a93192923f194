#!/usr/bin/env python3
"""Validates the JSON documents of all commands against the files under schema/.

  json_schemas.py --bin build/release

Needs the package jsonschema (tests/requirements.txt). Every document must name its schema, and every
schema file must be used by some document, except those in OTHERS, which have tests of their own.
"""
import argparse
import glob
import json
import os
import subprocess
import sys

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))

# INPUT stands for the path of a module, INSTRUCTION for the name of its entry root, AFTER for the module
# after layout assignment (or another module where there is no such file).
COMMANDS = [
    ["hlokit", "explain", "--format", "json", "INPUT"],
    ["hlokit", "explain", "--format", "json", "INPUT", "C1"],
    ["hlokit", "explain", "--format", "json", "--all", "INPUT", "C1"],
    ["hlokit", "why", "--format", "json", "INPUT", "INSTRUCTION"],
    ["hlokit", "why", "--format", "json", "--all", "INPUT", "INSTRUCTION"],
    ["hlokit", "trace", "--format", "json", "INPUT"],
    ["hlokit", "explain", "--format", "json", "--device", "sm_80", "INPUT"],
    ["hlokit", "explain", "--format", "json", "--all", "--backend", "cpu", "INPUT", "C1"],
    ["hlokit", "why", "--format", "json", "--backend", "cpu", "INPUT", "INSTRUCTION"],
    ["hlokit", "trace", "--format", "json", "--device-file", "examples/devices/rows128.json", "INPUT"],
    ["hlokit", "stats", "--format", "json", "INPUT"],
    ["hlokit", "verify", "--format", "json", "INPUT"],
    ["hlokit", "io-transposes", "suggest", "--format", "json", "INPUT"],
    ["hlokit", "diff", "--format", "json", "INPUT", "AFTER"],
    ["hlokit", "diff", "--format", "json", "AFTER", "INPUT"],
    ["hlokit", "run", "--format", "json", "--max-work", "20000000", "INPUT"],
    ["hlokit", "equal", "--format", "json", "--seeds", "1", "--max-work", "20000000", "INPUT", "AFTER"],
    ["hlokit", "equal", "--format", "json", "--seeds", "1", "SQUARE", "TURNED"],
    ["hlokit", "copies", "--format", "json", "INPUT"],
    ["hlokit", "copies", "--format", "json", "--insert", "INPUT"],
    ["hlokit", "copies", "--format", "json", "INPUT", "AFTER"],
]
# Commands that look at no module.
ONCE = [
    ["hlokit", "devices", "--format", "json"],
    ["hlokit", "devices", "sm_80"],
    ["hlokit", "devices", "cpu"],
    ["hlokit", "devices", "--device-file", "examples/devices/rows128.json"],
]
# Two modules that differ in every input.
SQUARE, TURNED = (os.path.join(HERE, "equal", name + ".hlo") for name in ("square", "turned"))
OTHERS = {"hlokit.ls/1",  # input_forms.py
          "hlokit.neff-inspect/1"}  # neff_wrapper.py


def inputs():
    golden = sorted(glob.glob(os.path.join(ROOT, "tests/golden/data/inputs/scenarios/*.hlo")))
    return sorted(glob.glob(os.path.join(ROOT, "examples/*.hlo"))) + golden[::3]


def after(path):
    name = os.path.splitext(os.path.basename(path))[0]
    result = os.path.join(ROOT, "tests/golden/data/layout-assignment/scenarios", name + ".after.hlo")
    return result if os.path.exists(result) else os.path.join(ROOT, "examples/attention.hlo")


def entry_root(path):
    text = open(path, encoding="utf-8").read()
    at = text.find("\nENTRY")
    for line in text[at:].split("\n"):
        if line.strip().startswith("ROOT "):
            return line.split()[1].lstrip("%")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds the programs")
    args = parser.parse_args()
    validators, used, problems, checked = {}, set(), [], 0
    for path in sorted(glob.glob(os.path.join(ROOT, "schema", "*.schema.json"))):
        with open(path, encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        name = schema["properties"]["schema"]["const"]
        if os.path.basename(path) != name.replace("/", ".") + ".schema.json":
            problems.append(f"{os.path.relpath(path, ROOT)}: describes {name}")
        validators[name] = jsonschema.Draft202012Validator(schema)
    runs = [(path, command) for path in inputs() for command in COMMANDS] + [("", command) for command in ONCE]
    for path, command in runs:
        named = {"SQUARE": SQUARE, "TURNED": TURNED, "INPUT": path, "INSTRUCTION": entry_root(path), "AFTER": after(path)} if path else {}
        words = [named.get(word, word) for word in command]
        if None in words:
            continue
        done = subprocess.run([os.path.abspath(os.path.join(args.bin, words[0])), *words[1:]], cwd=ROOT,
                              capture_output=True, timeout=120)
        where = " ".join(command[1:]) + (" " + os.path.relpath(path, ROOT) if path else "")
        if done.returncode > 1:  # 1: a check said no, with a document
            # Row C1 does not exist in a module without copies; some scenarios are refused.
            if done.stdout:
                problems.append(f"{where}: exit code {done.returncode} with output")
            continue
        try:
            document = json.loads(done.stdout)
        except ValueError as error:
            problems.append(f"{where}: no JSON: {error}")
            continue
        name = document.get("schema") if isinstance(document, dict) else None
        if name not in validators or next(iter(document)) != "schema":
            problems.append(f"{where}: names the schema {name!r}, which has no file or does not stand first")
            continue
        used.add(name)
        checked += 1
        for error in list(validators[name].iter_errors(document))[:3]:
            problems.append(f"{where}: {name}: {error.json_path}: {error.message[:200]}")
    problems += [f"{name}: no command wrote such a document"
                 for name in sorted(set(validators) - used - OTHERS)]
    for problem in problems[:20]:
        print(problem)
    print(f"json schemas: {checked} documents valid or looked at, {len(problems)} problems")
    return 1 if problems or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
