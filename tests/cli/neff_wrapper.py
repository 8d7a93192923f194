#!/usr/bin/env python3
"""Does hlo-neff-wrapper behave on the command line, and does hlokit read what it writes?

usage: neff_wrapper.py HLO_NEFF_WRAPPER HLOKIT
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import jsonschema

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../schema/hlokit.neff-inspect.1.schema.json")
MODULE = """HloModule m

ENTRY e {
  x = f32[4,6]{1,0} parameter(0), frontend_attributes={neff_input_names="input0"}
  w = f32[6,2]{1,0} parameter(1), frontend_attributes={neff_input_names="input1"}
  ROOT d = f32[4,2]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
EVERY_BYTE = bytes(range(256)) * 3
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def check_schema(document):
    with open(SCHEMA, encoding="utf-8") as file:
        validator = jsonschema.Draft202012Validator(json.load(file))
    check(next(iter(document)) == "schema" and not list(validator.iter_errors(document)),
          f"neff inspect: {[error.message for error in validator.iter_errors(document)]}")


def main():
    wrapper, hlokit = [os.path.abspath(path) for path in sys.argv[1:3]]
    os.chdir(tempfile.mkdtemp())

    def run(*arguments):
        return subprocess.run(arguments, capture_output=True, timeout=60)

    def write(name, contents):
        with open(name, "wb") as file:
            file.write(contents if isinstance(contents, bytes) else contents.encode())

    def read(name):
        with open(name, "rb") as file:
            return file.read()

    def wrap(*arguments, hlo="m.hlo", neff="m.neff", output="out.hlo"):
        if os.path.exists("out.hlo"):
            os.remove("out.hlo")
        return run(wrapper, "--hlo", hlo, "--neff", neff, "--output", output, *arguments)

    def refused(result, code, words):
        text = result.stderr.decode()
        check(result.returncode == code and words in text and not os.path.exists("out.hlo"),
              f"expected {code} and '{words}', got {result.returncode}: {text}")

    spec = [{"input_name": "input1", "reshape": [3, 2, 2], "transpose": [2, 0, 1]}]
    write("m.hlo", MODULE)
    write("m.neff", EVERY_BYTE)
    write("empty.neff", b"")
    write("io.json", json.dumps(spec))
    write("net.json", '{"PartMap": {"a": {"PartIOs": {"Inputs": {"local": "input0"}}}}, "IntermediateIOs": ["edge"]}')

    # One file; every form verifies and keeps every byte of the payload.
    for form in ("proto", "hlo", "text"):
        result = wrap("--io_transposes", "io.json", "--form", form)
        check(result.returncode == 0, f"{form}: {result.stderr.decode()}")
        check(run(hlokit, "verify", "out.hlo").returncode == 0, f"{form}: does not verify")
        check(run(hlokit, "neff", "inspect", "out.hlo", "--payload", "back.neff").returncode == 0, form)
        check(read("back.neff") == EVERY_BYTE, f"{form}: payload differs")
        check(run(hlokit, "neff", "inspect", "out.hlo", "--specs", "back.json").returncode == 0, form)
        check(json.loads(read("back.json")) == spec, f"{form}: transposes differ")
    shown = json.loads(run(hlokit, "neff", "inspect", "--format", "json", "out.hlo").stdout)
    check_schema(shown)
    check(shown["payload_bytes"] == 768 and shown["valid_inputs"] == "1,1" and shown["notes"] == [], str(shown))

    # The transform on data: element [i,j] of w is 2i+j; reshape (3,2,2), axes 2,0,1.
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (6, 2), }"
    header += " " * (117 - len(header)) + "\n"
    write("w.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
          struct.pack("<12f", *range(12)))
    result = run(hlokit, "neff", "inspect", "out.hlo", "--apply", "input1", "--npy", "w.npy", "-o", "moved.npy")
    check(result.returncode == 0, result.stderr.decode())
    moved = struct.unpack("<12f", read("moved.npy")[-48:])
    want = [4 * a + 2 * b + c for c in range(2) for a in range(3) for b in range(2)]
    check(list(moved) == want, f"moved: {moved}")
    check(b"(6, 2)" in read("moved.npy"), "the computation ends with the shape of the parameter")

    # Several files.
    write("local.json", json.dumps([{"input_name": "local", "reshape": [6, 4], "transpose": [1, 0]}]))
    write("edge.json", json.dumps([{"input_name": "edge", "reshape": [6, 4], "transpose": [1, 0]}]))
    result = wrap("--netlist", "net.json", "--modular-io-transposes", "io.json local.json")
    check(result.returncode == 0, result.stderr.decode())
    shown = json.loads(run(hlokit, "neff", "inspect", "--format", "json", "out.hlo").stdout)
    check_schema(shown)
    check(shown["inputs"][0]["call"] == {"reshape": [6, 4], "transpose": [1, 0]}, str(shown))
    refused(wrap("--modular-io-transposes", "io.json local.json"), 2, "NCC_IHNW001")
    refused(wrap("--io_transposes", "none.json"), 6, "NCC_IHNW002")
    refused(wrap("--netlist", "net.json", "--modular-io-transposes", "io.json io.json"), 1, "NCC_IIOT001")
    refused(wrap("--netlist", "net.json", "--modular-io-transposes", "edge.json"), 1, "NCC_IIOT002")
    refused(wrap("--io_transposes", "io.json", "--modular-io-transposes", "io.json"), 2, "")
    write("wrong.json", json.dumps([{"input_name": "input1", "reshape": [3, 2], "transpose": [1, 0]}]))
    refused(wrap("--io_transposes", "wrong.json"), 1, "wrong.json:1:2: error: [NCC_IHNW003]")

    # Nothing to do.
    write("none.json", "[]")
    for arguments in ((), ("--io_transposes", "none.json")):
        result = wrap(*arguments)
        check(result.returncode == 0 and not os.path.exists("out.hlo"), "output without need")
        check(b"There are no io transposes nor zero-sized parameters. Output will not be produced." in result.stderr,
              result.stderr.decode())

    # Bad input never leaves an output behind.
    refused(wrap("--io_transposes", "io.json", hlo="missing.hlo"), 6, "missing.hlo")
    refused(wrap("--io_transposes", "io.json", neff="missing.neff"), 6, "missing.neff")
    refused(wrap("--io_transposes", "io.json", neff="."), 6, "")
    refused(wrap("--io_transposes", "io.json", hlo="m.neff"), 3, "m.neff")
    refused(wrap("--io_transposes", "m.neff"), 3, "")
    refused(wrap("--io_transposes", "io.json", output="no/such/out.hlo"), 6, "")
    result = wrap("--io_transposes", "io.json", neff="empty.neff")
    check(result.returncode == 0, "a NEFF of zero bytes is wrapped")
    check(b"the payload is empty" in run(hlokit, "neff", "inspect", "out.hlo").stdout, "and noted")
    for name in ("../../x", "/etc/passwd", "..", "a/b", "\u0000", "\x1b[2J"):
        write("name.json", json.dumps([{"input_name": name, "reshape": [12], "transpose": [0]}]))
        result = wrap("--io_transposes", "name.json")
        refused(result, 1, "the module has no input")
        check(b"\x1b" not in result.stderr and b"\x00" not in result.stderr, "control characters in a message")
    check(sorted(os.listdir("..")) is not None and not os.path.exists("../x"), "written outside")

    # io-transposes check.
    result = run(hlokit, "io-transposes", "check", "io.json", "--hlo", "m.hlo")
    check(result.returncode == 0 and b"1 transpose of 2 inputs fit m" in result.stdout, result.stderr.decode())
    result = run(hlokit, "io-transposes", "check", "wrong.json", "--hlo", "m.hlo")
    check(result.returncode == 1 and b"NCC_IHNW003" in result.stderr, result.stderr.decode())
    result = run(hlokit, "io-transposes", "check", "name.json", "--hlo", "m.hlo")
    check(result.returncode == 1 and b"its inputs are: input0, input1" in result.stderr, result.stderr.decode())

    # io-transposes suggest: what it writes fits the module.
    result = run(hlokit, "io-transposes", "suggest", "m.hlo", "--weights", "7")
    check(result.returncode == 2, "a parameter that does not exist")
    result = run(hlokit, "io-transposes", "suggest", "m.hlo")
    check(result.returncode == 0 and b"would save work" in result.stdout, result.stderr.decode())

    # io-transposes apply: the parameter moves, the module still verifies.
    result = run(hlokit, "io-transposes", "apply", "m.hlo", "io.json", "-o", "applied.hlo")
    check(result.returncode == 0, result.stderr.decode())
    check(b"f32[2,3,2]{2,1,0} parameter(1)" in read("applied.hlo"), "the shape of the parameter")
    check(run(hlokit, "verify", "applied.hlo").returncode == 0, "does not verify")
    check(run(hlokit, "io-transposes", "apply", "--proto", "m.hlo", "io.json", "-o", "applied.pb").returncode == 0, "proto")
    check(run(hlokit, "verify", "applied.pb").returncode == 0, "the proto does not verify")
    result = run(hlokit, "io-transposes", "apply", "m.hlo", "wrong.json", "-o", "bad.hlo")
    check(result.returncode == 1 and not os.path.exists("bad.hlo"), result.stderr.decode())

    for failure in failures:
        print("FAIL:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
