#!/usr/bin/env python3
"""Feeds hostile and broken inputs to hlokit and checks how it ends.

  bad_input.py --bin build/release [--only TEXT] [--verbose]

For every row: the exit code is the expected one, there is a message on standard error (for failures),
nothing on standard output when the command fails, no signal, no run longer than the time limit, and no
more memory than the limit. Exit codes are those of include/hlokit/exit_code.h.
"""
import argparse
import os
import random
import re
import resource
import stat
import subprocess
import sys
import tempfile

OK, NO, USAGE, PARSE, UNSUPPORTED, VERIFY, IO = 0, 1, 2, 3, 4, 5, 6
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
SECONDS = 60
MEMORY = 2 << 30

GOOD = """HloModule good, entry_computation_layout={(f32[6,10]{1,0})->f32[10,6]{1,0}}

ENTRY main {
  p = f32[6,10]{1,0} parameter(0)
  ROOT t = f32[10,6]{1,0} transpose(p), dimensions={1,0}
}
"""

# Operations that the rules of backends look at.
BACKENDS = """HloModule backends

less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT
}

ENTRY main {
  x = f16[8,32,32,16]{3,2,1,0} parameter(0)
  f = f16[3,3,16,16]{3,2,1,0} parameter(1)
  conv = (f16[8,32,32,16]{3,2,1,0}, u8[0]{0}) custom-call(x, f), custom_call_target="__cudnn$convForward", window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  raw = f16[8,32,32,16]{3,2,1,0} convolution(x, f), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, convolution_kind=wgrad
  l = f32[2,4,6]{0,2,1} parameter(2)
  r = f32[2,6,8]{1,2,0} parameter(3)
  dot = f32[2,4,8]{2,1,0} dot(l, r), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  t = f32[2,8,4]{2,1,0} transpose(dot), dimensions={0,2,1}
  s = f32[2,8,4]{1,2,0} sort(t), dimensions={1}, to_apply=less
  top = (f32[2,4,2]{2,1,0}, s32[2,4,2]{2,1,0}) custom-call(l), custom_call_target="__gpu$TopK"
  bits = f16[2,4,6,2]{3,2,1,0} bitcast-convert(l)
  g = f32[2,8,6]{2,1,0} all-gather(l), replica_groups={{0,1}}, dimensions={1}
  shape = f32[2,1,24]{1,2,0} reshape(l)
  host = f32[2,4,6]{2,1,0} custom-call(l), custom_call_target="MoveToHost"
  ROOT all = (f16[8,32,32,16]{3,2,1,0}, f32[2,8,4]{1,2,0}, f16[2,4,6,2]{3,2,1,0}, f32[2,1,24]{1,2,0}) tuple(raw, s, bits, shape)
}
"""


def entry(*lines, header="HloModule m"):
    """A module with one computation that holds these lines."""
    return header + "\n\nENTRY main {\n" + "\n".join("  " + line for line in lines) + "\n}\n"


ASYNC_START = ["a = f32[4] parameter(0)",
               's = ((f32[4]), f32[4], s32[]) custom-call-start(a), custom_call_target="k"']


def chain(length):
    lines = ["x0 = f32[4,4] parameter(0)"]
    lines += [f"x{i} = f32[4,4] negate(x{i - 1})" for i in range(1, length)]
    return entry(*lines, f"ROOT r = f32[4,4] negate(x{length - 1})")


def call_chain(length):
    text = ["HloModule m\n\ncall_0 {\n  ROOT p = f32[4,4] parameter(0)\n}\n"]
    for i in range(1, length):
        text.append(f"call_{i} {{\n  p = f32[4,4] parameter(0)\n  ROOT r = f32[4,4] call(p), to_apply=call_{i - 1}\n}}\n")
    text.append(f"ENTRY e {{\n  p = f32[4,4] parameter(0)\n  ROOT r = f32[4,4] call(p), to_apply=call_{length - 1}\n}}\n")
    return "\n".join(text)


def garbage(size, seed):
    return random.Random(seed).randbytes(size)


# Name -> text of a module that no command can read.
UNREADABLE = {
    "empty file": "",
    "white space only": " \n\t\n  ",
    "comment only": "// nothing here\n",
    "comment without end": "/* HloModule m",
    "binary garbage, 1 kB": garbage(1000, 1),
    "binary garbage, 1 MB": garbage(1000000, 2),
    "NUL bytes": b"\0" * 1000,
    "an ELF header": b"\x7fELF\x02\x01\x01" + garbage(500, 3),
    "UTF-16 text": GOOD.encode("utf-16"),
    "prose": "Dear reader, this is not a module.\n",
    "header only": "HloModule m\n",
    "truncated in the middle": GOOD[:120],
    "truncated before the last brace": GOOD.rstrip()[:-1],
    "text after the end": GOOD + "garbage }\n",
    "two modules": GOOD + GOOD,
    "10 MB word": "HloModule m\n\nENTRY main {\n  " + "x" * 10_000_000 + "\n}\n",
    "10 MB of open braces": "HloModule m\n\nENTRY main {\n  p = f32[] constant(" + "{" * 10_000_000,
    "10 MB string without end": entry('p = f32[] parameter(0), metadata={op_name="' + "x" * 10_000_000),
    "100,000-deep tuple type": entry("ROOT p = " + "(" * 100_000 + "f32[]" + ")" * 100_000 + " parameter(0)"),
    "100,000-deep operands": entry("ROOT p = f32[] " + "negate(f32[] " * 100_000 + "q" + ")" * 100_000),
    "100,000-deep literal": entry("ROOT c = f32[1] constant(" + "{" * 100_000 + "1" + "}" * 100_000 + ")"),
    "100,000-deep sharding": entry("ROOT p = f32[] parameter(0), sharding=" + "{" * 100_000 + "}" * 100_000),
    "100,000-deep tuple constant": entry("ROOT c = () constant(" + "(" * 100_000 + ")" * 100_000 + ")"),
    "duplicate instruction name": entry("p = f32[] parameter(0)", "p = f32[] parameter(1)", "ROOT a = f32[] add(p, p)"),
    "duplicate computation name": "HloModule m\n\ng {\n  ROOT x = f32[] parameter(0)\n}\n\ng {\n  ROOT x = f32[] parameter(0)\n}\n\n" +
                                  GOOD.split("\n\n", 1)[1],
    "duplicate parameter number": entry("p = f32[] parameter(0)", "q = f32[] parameter(0)", "ROOT a = f32[] add(p, q)"),
    "gap in the parameter numbers": entry("ROOT p = f32[] parameter(7)"),
    "huge parameter number": entry("ROOT p = f32[] parameter(9223372036854775807)"),
    "negative parameter number": entry("ROOT p = f32[] parameter(-1)"),
    "two roots": entry("ROOT p = f32[] parameter(0)", "ROOT n = f32[] negate(p)"),
    "unknown operand": entry("p = f32[] parameter(0)", "ROOT n = f32[] negate(nobody)"),
    "unknown computation": entry("p = f32[] parameter(0)", "ROOT n = f32[] call(p), to_apply=nobody"),
    "operand that is its own user": entry("ROOT n = f32[] negate(n)"),
    "cycle of two instructions": entry("a = f32[] negate(b)", "ROOT b = f32[] negate(a)"),
    "computation that calls itself": "HloModule m\n\nENTRY e {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=e\n}\n",
    "computations that call each other": "HloModule m\n\nf {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=g\n}\n\n"
                                         "g {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=f\n}\n\n"
                                         "ENTRY e {\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=f\n}\n",
    "control predecessor cycle": entry("p = f32[] parameter(0), control-predecessors={n}",
                                       "ROOT n = f32[] negate(p), control-predecessors={p}"),
    "too few operands": entry("p = f32[] parameter(0)", "ROOT a = f32[] add(p)"),
    "too many operands": entry("p = f32[] parameter(0)", "ROOT n = f32[] negate(p, p)"),
    "no operands": entry("ROOT n = f32[] negate()"),
    "update of nothing": entry(*ASYNC_START, "u = ((f32[4]), f32[4], s32[]) custom-call-update()",
                               "ROOT d = f32[4] custom-call-done(u)"),
    "update of two": entry(*ASYNC_START, "u = ((f32[4]), f32[4], s32[]) custom-call-update(s, s)",
                           "ROOT d = f32[4] custom-call-done(u)"),
    "missing attribute": entry("p = f32[2,3] parameter(0)", "ROOT t = f32[3,2] transpose(p)"),
    "attribute twice": entry("p = f32[2,3] parameter(0)", "ROOT t = f32[3,2] transpose(p), dimensions={1,0}, dimensions={1,0}"),
    "size beyond 64 bits": entry("ROOT p = f32[99999999999999999999] parameter(0)"),
    "element count beyond 64 bits": entry("ROOT p = f32[9223372036854775807,9223372036854775807] parameter(0)"),
    "negative size": entry("ROOT p = f32[-3] parameter(0)"),
    "unknown element type": entry("ROOT p = q17[3] parameter(0)"),
    "layout too short": entry("ROOT p = f32[2,3]{0} parameter(0)"),
    "layout too long": entry("ROOT p = f32[2,3]{2,1,0} parameter(0)"),
    "constant with too few elements": entry("ROOT c = f32[3] constant({1, 2})"),
    "constant with too many elements": entry("ROOT c = f32[2] constant({1, 2, 3})"),
    "constant of a petabyte": entry("ROOT c = f32[1000000,1000000,1000] constant({1})"),
    "transpose by no permutation": entry("p = f32[2,3] parameter(0)", "ROOT t = transpose(p), dimensions={0,0}"),
    "transpose by a dimension out of range": entry("p = f32[2,3] parameter(0)", "ROOT t = transpose(p), dimensions={7,0}"),
}

# Name -> text that must be read, by every command. Large or deep, but legal.
LEGAL = {
    "10 MB line": entry('ROOT p = f32[2,3] parameter(0), metadata={op_name="' + "x" * 10_000_000 + '"}'),
    "10 MB header line": "HloModule " + "m" * 10_000_000 + "\n\n" + GOOD.split("\n\n", 1)[1],
    "chain of 100,000 instructions": chain(100_000),
    "chain of 20,000 calls": call_chain(20_000),
    "tuple of 100,000 elements": entry("p = f32[2,2] parameter(0)", "ROOT t = (" + ", ".join(["f32[2,2]"] * 100_000) +
                                       ") tuple(" + ", ".join(["p"] * 100_000) + ")"),
    "nest of 1,000 tuples": entry("p = f32[2,2] parameter(0)", *[
        f"t{i} = {'(' * (i + 1)}f32[2,2]{')' * (i + 1)} tuple({f't{i - 1}' if i else 'p'})" for i in range(1000)],
        "ROOT r = f32[2,2] negate(p)"),
    "CRLF line ends": GOOD.replace("\n", "\r\n"),
    "no line break at the end": GOOD.rstrip(),
    "size 0": entry("p = f32[0,3] parameter(0)", "ROOT n = f32[0,3] negate(p)"),
}

# Name -> module that can be read, but that layout assignment must refuse, and the exit code.
REFUSED = {
    "layout with tiles of size 0": (entry("ROOT p = f32[2,3]{1,0:T(0,0)} parameter(0)"), (PARSE, VERIFY)),
    "layout with a negative dimension": (entry("ROOT p = f32[2,3]{-1,0} parameter(0)"), (PARSE, VERIFY)),
    "layout dimension out of range": (entry("ROOT p = f32[2,3]{2,0} parameter(0)"), (PARSE, VERIFY)),
    "layout names a dimension twice": (entry("ROOT p = f32[2,3]{0,0} parameter(0)"), (PARSE, VERIFY)),
    "bitcast in the input": (entry("p = f32[2,3] parameter(0)", "ROOT b = f32[3,2] bitcast(p)"), (UNSUPPORTED,)),
    "entry layout with too few parameters": (entry(
        "p = f32[2,3] parameter(0)", "q = f32[2,3] parameter(1)", "ROOT a = f32[2,3] add(p, q)",
        header="HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{1,0}}"), (PARSE, UNSUPPORTED)),
    "entry layout of another size": (entry(
        "p = f32[2,3] parameter(0)", "ROOT n = f32[2,3] negate(p)",
        header="HloModule m, entry_computation_layout={(f32[9,9]{1,0})->f32[2,3]{1,0}}"), (PARSE, UNSUPPORTED)),
    "entry layout of another result": (entry(
        "p = f32[2,3] parameter(0)", "ROOT n = f32[2,3] negate(p)",
        header="HloModule m, entry_computation_layout={(f32[2,3]{1,0})->(f32[2,3]{1,0})}"), (PARSE, UNSUPPORTED)),
    "entry layout of another element type": (entry(
        "p = f32[2,3] parameter(0)", "ROOT n = f32[2,3] negate(p)",
        header="HloModule m, entry_computation_layout={(s8[2,3]{1,0})->f32[2,3]{1,0}}"), (PARSE, UNSUPPORTED)),
}

READING_COMMANDS = [["fmt"], ["assign"], ["explain"], ["stats"], ["trace"]]
# Command lines that are wrong; GOOD stands for the path of a good module.
WRONG_USAGE = [
    [],
    ["frobnicate"],
    ["fmt"],
    ["fmt", "--frobnicate", "GOOD"],
    ["fmt", "GOOD", "GOOD"],
    ["assign", "--format", "yaml", "GOOD"],
    ["explain", "--format", "yaml", "GOOD"],
    ["assign", "--entry-layouts", "(f32[6,10]", "GOOD"],
    ["assign", "--entry-layouts", "(f32[6,10]{1,0}) -> f32[1,1]{1,0}", "GOOD"],
    ["assign", "--entry-layouts", "(f32[6,10]{1,0}, f32[]) -> f32[10,6]{1,0}", "GOOD"],
    ["assign", "--entry-layouts", "", "GOOD"],
    ["assign", "--pin", "0={0,0}", "GOOD"],
    ["assign", "--pin", "0={0}", "GOOD"],
    ["assign", "--pin", "9={1,0}", "GOOD"],
    ["assign", "--pin", "zero", "GOOD"],
    ["assign", "--unpin", "9", "GOOD"],
    ["assign", "--unpin", "-1", "GOOD"],
    ["assign", "--unpin", "99999999999999999999", "GOOD"],
    ["why", "GOOD"],
    ["why", "GOOD", "nobody"],
    ["explain", "GOOD", "nobody"],
    ["assign", "--device", "sm_81", "GOOD"],
    ["assign", "--device", "", "--backend", "gpu", "GOOD"],
    ["assign", "--device", "x" * 10_000, "GOOD"],
    ["assign", "--backend", "tpu", "GOOD"],
    ["assign", "--backend", "gpu", "GOOD"],
    ["assign", "--backend", "cpu", "--device", "sm_80", "GOOD"],
    ["assign", "--device", "sm_80", "--xla-flag", "xla_gpu_force_conv_nchw=perhaps", "GOOD"],
    ["assign", "--device", "sm_80", "--xla-flag", "xla_gpu_autotune_level=4", "GOOD"],
    ["assign", "--device", "sm_80", "--row-reduction", "GOOD"],
    ["trace", "--device", "sm_81", "GOOD"],
    ["why", "--device", "sm_81", "GOOD", "t"],
    ["devices", "sm_81"],
]

DEVICE = '{"schema": "hlokit.device/1", "name": "mine", "backend": '
DESCRIBED = DEVICE + '"described", "demands": ['
# Name -> a device file, and the place that its message must name.
BAD_DEVICES = {
    "empty file": ("", "1:1"),
    "binary garbage": (garbage(1000, 5), "1:"),
    "no JSON": ("HloModule m\n", "1:1"),
    "an array": ("[]", "1:1"),
    "too deep": ("[" * 100_000, "1:"),
    "no name": ('{"schema": "hlokit.device/1",\n "backend": "cpu"}', "1:1"),
    "unknown key": (DEVICE + '"cpu",\n "nmae": 1}', "2:10"),
    "key twice": (DEVICE + '"cpu",\n "name": "x"}', "2:2"),
    "capability of an AMD device": (DEVICE + '"gpu", "vendor": "rocm", "gfx": "gfx90a",\n "compute_capability": "8.0"}', "2:24"),
    "gpu without a vendor": (DEVICE + '"gpu"}', "1:1"),
    "alignment that is no power of two": (DEVICE + '"cpu",\n "minimum_alignment": 12}', "2:23"),
    "rank from 4 to 2": (DESCRIBED + '\n{"id": "a", "rank": [4, 2], "order": "row-major"}]}', "2:21"),
    "dimension beyond the rank": (DESCRIBED + '\n{"id": "a", "rank": 2, "order": "dimension-minor", "dimension": 2}]}', "2:65"),
    "nhwc of a dot": (DESCRIBED + '\n{"id": "a", "opcode": "dot", "order": "nhwc"}]}', "2:39"),
    "one id twice": (DESCRIBED + '\n{"id": "a", "order": "row-major"},\n{"id": "a", "order": "row-major"}]}', "3:1"),
    "1001 demands": (DESCRIBED + ",".join(f'{{"id": "{i}", "order": "row-major"}}' for i in range(1001)) + "]}", "1:"),
}


class Checker:
    def __init__(self, binary, folder, only, verbose):
        self.binary, self.folder, self.only, self.verbose = binary, folder, only, verbose
        self.passed, self.failures = 0, []
        # Address sanitizer reserves terabytes of address space, so the limit cannot hold there.
        with open(binary, "rb") as file:
            self.limit_memory = b"__asan_init" not in file.read()

    def run(self, arguments, stdin=None, stdout=subprocess.PIPE):
        def limits():
            if self.limit_memory:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        return subprocess.run([self.binary, *arguments], input=stdin, stdout=stdout, stderr=subprocess.PIPE,
                              timeout=SECONDS, preexec_fn=limits)

    def check(self, name, arguments, codes, stdin=None, stdout=subprocess.PIPE, extra=None):
        """One row. `extra` is a function of the finished process that returns a problem or nothing."""
        if self.only and self.only not in name:
            return
        codes = codes if isinstance(codes, tuple) else (codes,)
        problem = None
        try:
            done = self.run(arguments, stdin, stdout)
        except subprocess.TimeoutExpired:
            problem, done = f"no end within {SECONDS} s", None
        if done is not None:
            err = done.stderr.decode("utf-8", "replace")
            if done.returncode < 0:
                problem = f"ended by signal {-done.returncode}"
            elif done.returncode not in codes:
                problem = f"exit code {done.returncode}, expected {' or '.join(map(str, codes))}"
            elif done.returncode != OK and not err.strip():
                problem = "failed without a message"
            elif done.returncode not in (OK, NO) and done.stdout:
                problem = f"failed, but {len(done.stdout)} bytes stand on standard output"
            elif done.returncode in (PARSE, UNSUPPORTED, IO) and not re.search(r"error: .*\[[A-Z]\d{3}\]", err):
                problem = "the message has no code"
            elif len(err) > 100_000:
                problem = f"{len(err)} bytes of messages"
            elif extra is not None:
                problem = extra(done)
            if problem and err:
                problem += "\n    " + err[:600].replace("\n", "\n    ")
            if self.verbose:
                print(f"-- {name}: {' '.join(arguments)[:100]}: exit code {done.returncode}\n{err[:1500]}")
        if problem:
            self.failures.append(f"{name}: hlokit {' '.join(arguments)[:120]}\n    {problem}")
        else:
            self.passed += 1

    def write(self, content):
        path = os.path.join(self.folder, "input.hlo")
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path


def check_texts(checker, good):
    for name, content in UNREADABLE.items():
        path = checker.write(content)
        for command in READING_COMMANDS if len(content) < 10_000 else [["fmt"], ["explain"]]:
            checker.check(name, [*command, path], PARSE)
    for name, content in LEGAL.items():
        path = checker.write(content)
        for command in [["fmt"], ["assign"], ["explain"]]:
            checker.check(name, [*command, path], OK)
    for name, (content, codes) in REFUSED.items():
        path = checker.write(content)
        for command in [["assign"], ["explain"], ["trace"]]:
            # With a bitcast in the way, explain answers from the module as it is.
            from_dump = command == ["explain"] and name == "bitcast in the input"
            checker.check(name, [*command, path], OK if from_dump else codes)
    # The help line must say what to do about a bitcast.
    path = checker.write(REFUSED["bitcast in the input"][0])
    checker.check("bitcast message", ["explain", path], OK, extra=lambda done:
                  None if b"help: " in done.stderr else "no help line")
    # A module cut anywhere is refused, or legal by chance; never a crash.
    text = open(good, encoding="utf-8").read()
    for i in range(0, len(text), max(1, len(text) // 60)):
        checker.check(f"truncated after {i} bytes", ["assign", "-"], (OK, PARSE), stdin=text[:i].encode())
    # Single changed bytes.
    rng = random.Random(4)
    for i in range(120):
        data = bytearray(text.encode())
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        checker.check(f"bytes changed, {i}", ["explain", "-"], (OK, PARSE, UNSUPPORTED), stdin=bytes(data))


def check_backends(checker, good):
    device = os.path.join(checker.folder, "device.json")
    for name, (content, place) in BAD_DEVICES.items():
        with open(device, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        for command in [["assign", "--device-file", device, good], ["devices", "--device-file", device]]:
            checker.check("device file: " + name, command, PARSE, extra=lambda done, place=place:
                          None if f"device.json:{place}".encode() in done.stderr else f"the place {place} is not named")
    checker.check("device file that is not there", ["assign", "--device-file", device + ".no", good], IO)
    # Modules with changed bytes under the rules of backends: an answer or a message, never a crash.
    text = BACKENDS.encode()
    rules = [["--backend", "cpu"], ["--device", "sm_80"], ["--device", "gfx90a", "--xla-flag", "TF_USE_ROCM_NHWC=true"],
             ["--device", "h100", "--xla-flag", "xla_gpu_experimental_enable_conv_fusion=true"],
             ["--device-file", os.path.join(ROOT, "examples", "devices", "rows128.json")]]
    for rule in rules:
        checker.check("backends, as it is", ["explain", *rule, "-"], OK, stdin=text)
    rng = random.Random(6)
    digits = [i for i, byte in enumerate(text) if chr(byte).isdigit()]
    for i in range(150):
        data = bytearray(text)
        for _ in range(rng.randint(1, 3)):  # another size, dimension or layout
            data[rng.choice(digits)] = ord(rng.choice("0123456789"))
        checker.check(f"backends, digits changed, {i}", ["explain", *rules[i % len(rules)], "-"],
                      (OK, PARSE, UNSUPPORTED, VERIFY), stdin=bytes(data))


def check_usage(checker, good):
    for arguments in WRONG_USAGE:
        words = [good if word == "GOOD" else word for word in arguments]
        checker.check("usage: " + " ".join(arguments), words, USAGE)
    checker.check("suggestion for a flag", ["assign", "--revers", good], USAGE, extra=lambda done:
                  None if b"--reverse" in done.stderr else "no suggestion")
    checker.check("suggestion for a command", ["explan", good], USAGE, extra=lambda done:
                  None if b"explain" in done.stderr else "no suggestion")
    for arguments in [["--help"], ["explain", "--help"], ["fmt", "--help"], ["--version"]]:
        checker.check("help: " + " ".join(arguments), arguments, OK, extra=lambda done:
                      None if done.stdout else "nothing on standard output")


def check_files(checker, good):
    folder = checker.folder
    checker.check("no such file", ["fmt", os.path.join(folder, "nobody.hlo")], IO)
    checker.check("path through a file", ["fmt", os.path.join(good, "x.hlo")], IO)
    checker.check("path with a NUL-free mess", ["fmt", folder + "/\x01\x7f\xff"], IO)
    checker.check("very long path", ["fmt", "x" * 5_000], IO)
    link = os.path.join(folder, "loop")
    os.symlink(link, link)
    checker.check("symbolic link to itself", ["fmt", link], IO)
    empty = os.path.join(folder, "empty")
    os.mkdir(empty)
    checker.check("empty directory", ["fmt", empty], (USAGE, PARSE, IO))
    secret = os.path.join(folder, "secret.hlo")
    with open(secret, "w", encoding="utf-8") as file:
        file.write(GOOD)
    os.chmod(secret, 0)
    if os.geteuid() != 0:  # root may read everything
        checker.check("unreadable file", ["fmt", secret], IO)
    checker.check("output into a missing folder", ["fmt", good, "-o", os.path.join(folder, "no", "out.hlo")], IO)
    checker.check("output onto a directory", ["fmt", good, "-o", folder], IO)
    with open("/dev/full", "wb") as full:
        checker.check("full disk", ["fmt", good], IO, stdout=full)
    # A pipe whose reader is gone: an error and its exit code, no signal.
    reader, writer = os.pipe()
    os.close(reader)
    for command in [["fmt"], ["assign"], ["explain"], ["stats"]]:
        checker.check("closed pipe", [*command, good], IO, stdout=writer)
    os.close(writer)
    # A failing command leaves an older output as it was, and no temporary file.
    output = os.path.join(folder, "out", "result.hlo")
    os.mkdir(os.path.dirname(output))
    with open(output, "w", encoding="utf-8") as file:
        file.write("old")
    bad = checker.write(GOOD[:120])

    def untouched(_):
        if open(output, encoding="utf-8").read() != "old":
            return "the old output was touched"
        return "a temporary file is left" if os.listdir(os.path.dirname(output)) != ["result.hlo"] else None
    checker.check("old output survives an unreadable input", ["fmt", bad, "-o", output], PARSE, extra=untouched)
    bad = checker.write(REFUSED["bitcast in the input"][0])
    checker.check("old output survives a refused module", ["assign", bad, "-o", output], UNSUPPORTED, extra=untouched)
    checker.check("output replaces the old one", ["assign", good, "-o", output], OK, extra=lambda done:
                  None if open(output, encoding="utf-8").read().startswith("HloModule") else "not written")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds hlokit")
    parser.add_argument("--only", help="only rows whose name contains this text")
    parser.add_argument("--verbose", action="store_true", help="show every run")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        good = os.path.join(folder, "good.hlo")
        with open(good, "w", encoding="utf-8") as file:
            file.write(GOOD)
        checker = Checker(os.path.join(args.bin, "hlokit"), folder, args.only, args.verbose)
        check_texts(checker, good)
        check_backends(checker, good)
        check_usage(checker, good)
        check_files(checker, good)
        os.chmod(os.path.join(folder, "secret.hlo"), stat.S_IRUSR | stat.S_IWUSR)
    for failure in checker.failures:
        print(failure)
    print(f"bad input: {checker.passed} passed, {len(checker.failures)} failed")
    return 1 if checker.failures or not checker.passed else 0


if __name__ == "__main__":
    sys.exit(main())
