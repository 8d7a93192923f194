#!/usr/bin/env python3
"""hlokit copies and hlokit explain on dumps: stages, folders, reasons, exit codes.

  copies.py --bin build/release
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

BEFORE = """HloModule m, entry_computation_layout={(f32[4,5]{1,0})->f32[4,5]{0,1}}

ENTRY main {
  p = f32[4,5]{1,0} parameter(0)
  mine = f32[4,5]{1,0} copy(p), metadata={op_name="jit(f)/copy"}
  n = f32[4,5]{1,0} negate(mine)
  ROOT a = f32[4,5]{1,0} abs(n)
}
"""
ASSIGNED = BEFORE.replace("ROOT a = f32[4,5]{1,0} abs(n)",
                          "a = f32[4,5]{1,0} abs(n)\n  ROOT copy = f32[4,5]{0,1} copy(a)")
OPTIMISED = """HloModule m, is_scheduled=true, entry_computation_layout={(f32[4,5]{1,0})->f32[4,5]{0,1}}

ENTRY main {
  p = f32[4,5]{1,0} parameter(0)
  mine = f32[4,5]{1,0} copy(p), metadata={op_name="jit(f)/copy"}
  n = f32[4,5]{1,0} negate(mine)
  a = f32[4,5]{1,0} abs(n)
  t = f32[5,4]{1,0} transpose(a), dimensions={1,0}
  ROOT b = f32[4,5]{0,1} bitcast(t)
}
"""
LIVE = """HloModule m, entry_computation_layout={(f32[4]{0}, f32[1]{0})->f32[4]{0}}

ENTRY main {
  p = f32[4]{0} parameter(0)
  u = f32[1]{0} parameter(1)
  n = f32[4]{0} negate(p)
  z = s32[] constant(0)
  d = f32[4]{0} dynamic-update-slice(n, u, z)
  ROOT s = f32[4]{0} add(d, n)
}
"""


class Check:
    def __init__(self, program):
        self.program = program
        self.problems = []

    def run(self, *words, code=0):
        done = subprocess.run([self.program, *words], capture_output=True, text=True, timeout=120)
        if done.returncode != code:
            self.problems.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}: {done.stderr[:300]}")
        return done

    def json(self, *words):
        done = self.run(*words, "--format", "json")
        return json.loads(done.stdout) if done.returncode == 0 else {"copies": []}

    def equal(self, what, got, want):
        if got != want:
            self.problems.append(f"{what}: {got!r}, expected {want!r}")

    def holds(self, what, text, part):
        if part not in text:
            self.problems.append(f"{what}: {part!r} is not in {text[:400]!r}")


def classes(document):
    return {copy["name"]: copy["class"] for copy in document["copies"]}


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds the programs")
    check = Check(os.path.join(parser.parse_args().bin, "hlokit"))
    with tempfile.TemporaryDirectory() as folder:
        before = write(folder, "before.txt", BEFORE)
        assigned = write(folder, "assigned.txt", ASSIGNED)
        optimised = write(folder, "optimised.txt", OPTIMISED)
        live = write(folder, "live.txt", LIVE)

        # One dump: the table.
        check.equal("one dump", classes(check.json("copies", assigned)), {"mine": "user", "copy": "layout"})
        # Two stages: what is there already is the user's own.
        document = check.json("copies", before, optimised)
        check.equal("two stages", classes(document), {"mine": "user", "t": "layout"})
        check.equal("confidence", {c["name"]: c["confidence"] for c in document["copies"]}["mine"], "high")
        # A first stage behind layout assignment says nothing about the user; folders are no passes.
        check.equal("assigned twice", classes(check.json("copies", assigned, assigned)), {"mine": "user", "copy": "layout"})
        study = os.path.join(folder, "copy-insertion-study")
        os.mkdir(study)
        document = check.json("copies", before, write(study, "later.txt", ASSIGNED))
        check.equal("folder name", classes(document), {"mine": "user", "copy": "layout"})
        # A folder: which pass made what.
        dumps = os.path.join(folder, "dumps")
        os.mkdir(dumps)
        write(dumps, "module_0001.m.before_optimizations.txt", BEFORE)
        write(dumps, "module_0001.m.0000.hlo.after_layout-assignment.before_layout-normalization.txt", ASSIGNED)
        write(dumps, "module_0001.m.0001.hlo.after_layout-normalization.before_pipeline-end.txt", OPTIMISED)
        document = check.json("copies", dumps)
        tracks = {track["name"]: track for track in document["history"]["tracks"]}
        check.equal("made by", document["history"]["stages"][tracks["copy"]["first_stage"]]["pass"], "layout-assignment")
        check.equal("became", tracks["copy"].get("became"), "t")
        text = check.run("copies", dumps).stdout
        check.holds("stages", text, "- %copy f32[4,5]{0,1}, now %t")
        check.holds("stages", text, "+ %t f32[5,4]{1,0}")
        # Reasons of copy insertion.
        document = check.json("copies", "--insert", live)
        check.equal("insert", [c["class"] for c in document["copies"]], ["lifetime"])
        check.equal("insert", document["copies"][0]["confidence"], "certain")
        check.holds("insert", document["copies"][0]["evidence"][0]["text"], "%s reads %n")
        check.equal("insert", document["copies"][0]["evidence"][0]["rule"], "live-range")
        # Filters and names.
        check.equal("class", classes(check.json("copies", "--class", "layout", assigned)), {"copy": "layout"})
        check.holds("copy", check.run("copies", assigned, "--copy", "copy").stdout, "the entry layout of the result")
        check.holds("no copy", check.run("copies", assigned, "--copy", "nothing", code=2).stderr, "C001")
        check.run("copies", os.path.join(folder, "absent"), code=6)

        # explain on a module that was optimised already.
        done = check.run("explain", optimised)
        check.holds("explain", done.stderr, "C002")
        check.holds("explain", done.stdout, "%t")
        check.equal("explain", "%mine" in done.stdout, False)
        with open(optimised, encoding="utf-8") as file:
            piped = subprocess.run([check.program, "explain", "-"], stdin=file, capture_output=True, text=True, timeout=60)
        check.equal("explain -", piped.stdout, done.stdout)
        done = check.run("explain", optimised, "t")
        check.holds("explain t", done.stdout, "the entry layout of parameter 0 (%p)")
        check.holds("explain t", done.stdout, "the entry layout of the result")
        check.holds("explain", check.run("explain", optimised, "nothing", code=2).stderr, "C001")
        check.equal("explain", check.json("explain", optimised)["schema"], "hlokit.copies/1")
    for problem in check.problems:
        print(problem)
    print(f"{len(check.problems)} problems")
    return 1 if check.problems else 0


if __name__ == "__main__":
    sys.exit(main())
