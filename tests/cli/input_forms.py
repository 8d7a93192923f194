#!/usr/bin/env python3
"""Does every form of a module lead to the same module, and does hlokit ls describe a folder rightly?

  input_forms.py --bin build/release

The JSON document of hlokit ls is validated when the package jsonschema is there.
"""
import argparse
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PREFIX = "I0521 12:04:45.883483    1509 service.cc:186] "


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    return path


class Check:
    def __init__(self, program):
        self.program = program
        self.problems = []

    def run(self, *words, stdin=None, code=0):
        done = subprocess.run([self.program, *words], input=stdin, capture_output=True, timeout=120)
        if done.returncode != code:
            self.problems.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}: {done.stderr.decode()[:300]}")
        return done.stdout

    def equal(self, what, got, want):
        if got != want:
            self.problems.append(f"{what}: differs")


def check_forms(check, source, folder):
    want = check.run("fmt", "--large-constants", source)
    name = os.path.splitext(os.path.basename(source))[0]
    forms = {}
    for form, extension in (("text", "txt"), ("proto", "hlo.pb"), ("pbtxt", "pbtxt"), ("proto", "hlo.pb.gz"), ("text", "txt.gz")):
        path = os.path.join(folder, f"{name}.{extension}")
        check.run("convert", source, "-o", path)
        forms[extension] = path
        # The proto form has no place for some attributes of the header; the examples have none of them.
        check.equal(f"{name} as {extension}", check.run("fmt", "--large-constants", path), want)
        check.equal(f"{name} as {extension} from standard input",
                    check.run("fmt", "--large-constants", "-", stdin=open(path, "rb").read()), want)
    check.equal(f"{name}: --to proto and the name .pb", check.run("convert", source, "--to", "proto"), open(forms["hlo.pb"], "rb").read())
    check.equal(f"{name}: gzip", gzip.open(forms["hlo.pb.gz"]).read(), open(forms["hlo.pb"], "rb").read())
    document = json.loads(check.run("convert", forms["hlo.pb"], "--to", "json"))
    check.equal(f"{name}: JSON", document["hloModule"]["name"], want.decode().split("HloModule ", 1)[1].split(",")[0].split("\n")[0])
    short = write(os.path.join(folder, name + ".short.txt"), check.run("convert", forms["pbtxt"], "--to", "short"))
    check.run("fmt", short)
    log = "".join(PREFIX + line + "\n" for line in want.decode().split("\n"))
    log = f"noise\n{PREFIX}*** Begin module_0007.{name}.before_optimizations.txt ***\n{log}*** End module_0007.{name}.before_optimizations.txt ***\n"
    path = write(os.path.join(folder, name + ".log"), log.encode())
    check.equal(f"{name} in a log", check.run("fmt", "--large-constants", f"{path}:7:before"), want)


def check_damage(check, source, folder):
    proto = check.run("convert", source, "--to", "proto")
    check.run("fmt", write(os.path.join(folder, "cut.pb"), proto[:-7]), code=3)
    check.run("fmt", write(os.path.join(folder, "cut.gz"), gzip.compress(proto)[:-9]), code=3)
    check.run("fmt", write(os.path.join(folder, "empty"), b""), code=3)
    check.run("fmt", os.path.join(folder, "missing"), code=6)
    check.run("fmt", "--input-format", "text", write(os.path.join(folder, "whole.pb"), proto), code=3)
    check.run("convert", source, code=2)


def check_ls(check, source, folder):
    module = open(source, "rb").read()
    after = check.run("assign", source)
    for name, data in (("module_0001.f.before_optimizations.txt", module),
                       ("module_0001.f.0000.p.after_pipeline-start.before_layout-assignment.txt", module),
                       ("module_0001.f.0001.p.after_layout-assignment.before_pipeline-end.txt", after),
                       ("module_0001.f.cpu_after_optimizations.txt", after),
                       ("module_0001.f.cpu_after_optimizations-buffer-assignment.txt", b"x"),
                       ("module_0002.g.before_optimizations.txt", b"HloModule g\n\nbroken")):
        write(os.path.join(folder, name), data)
    document = json.loads(check.run("ls", "--format", "json", folder))
    rows = document["modules"][0]["files"]
    check.equal("ls: stages", [row["stage"] for row in rows if row["holds_module"]],
                ["before_optimizations", "after_pipeline-start", "after_layout-assignment", "cpu_after_optimizations"])
    check.equal("ls: nothing changed", rows[1]["change"], {"added": 0, "removed": 0, "layouts": 0, "changed": 0, "copies": 0})
    check.equal("ls: new copies", rows[2]["change"]["copies"], rows[2]["copies"] - rows[1]["copies"])
    check.equal("ls: a problem", "problem" in document["modules"][1]["files"][0], True)
    check.equal("ls: names only", b"instructions" in check.run("ls", "--names-only", folder), True)
    check.equal("ls: module and stage", check.run("fmt", f"{folder}:f:layout-assignment"), check.run("fmt", os.path.join(
        folder, "module_0001.f.0001.p.after_layout-assignment.before_pipeline-end.txt")))
    check.run("fmt", f"{folder}:f:nowhere", code=2)
    check.run("ls", source, code=2)
    try:
        import jsonschema
    except ImportError:
        return
    schema = json.load(open(os.path.join(ROOT, "schema", "hlokit.ls.1.schema.json"), encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    for error in jsonschema.Draft202012Validator(schema).iter_errors(document):
        check.problems.append(f"ls: {error.message}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds the programs")
    check = Check(os.path.join(parser.parse_args().bin, "hlokit"))
    sources = sorted(glob.glob(os.path.join(ROOT, "examples/*.hlo")))
    if not sources:
        sys.exit("there are no examples")
    with tempfile.TemporaryDirectory() as folder:
        for source in sources:
            check_forms(check, source, folder)
        check_damage(check, sources[0], os.path.join(folder, "damage"))
        check_ls(check, sources[0], os.path.join(folder, "dump"))
    for problem in check.problems:
        print(problem)
    print(f"input forms: {len(sources)} modules, {len(check.problems)} problems")
    sys.exit(1 if check.problems else 0)


if __name__ == "__main__":
    main()
