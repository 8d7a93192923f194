#!/usr/bin/env python3
"""Writes the reference pages that list the rows of tables.

  scripts/make_reference.py            writes layout-rules.md, backends.md and diagnostics.md of docs/reference
  scripts/make_reference.py --check    exit status 1 when they are not up to date
"""
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
INCLUDE = os.path.join(ROOT, "include", "hlokit")

# What the section numbers in reports stand for.
SECTIONS = {
    "2.2": "how the constraint of a computation starts",
    "2.3": "setting the constraint of a value",
    "2.4": "setting the constraint of an operand",
    "2.5": "a value may be rewritten twice per round, then only by mandatory requests",
    "2.6": "setting the layout of a whole instruction",
    "3.4": "what a computation keeps from round to round",
    "3.5": "inputs and outputs that share memory",
    "4.1": "instructions that bring a layout along, parameters",
    "4.2": "calls",
    "4.3": "loops and conditionals",
    "4.4": "custom calls with declared layouts",
    "4.6": "channels",
    "5.2": "from a value to its operands and users",
    "5.3": "from an operand to the maker of the value, to other operands, and to the output",
    "5.4": "from the result of a computation to its root",
    "6": "choosing a layout across an instruction",
    "6.1": "across a transpose",
    "6.2": "across a reshape",
    "6.4": "across a broadcast",
    "6.5": "across a reduction",
    "6.6": "across a bitcast-convert that changes the rank",
    "9": "values that nobody asked about",
    "12": "rules of a back end",
}
AREAS = {"I": "files", "U": "command line", "X": "inside hlokit", "R": "reading text", "L": "layout assignment",
         "V": "verifier", "P": "passes", "N": "Neuron files", "T": "tensors", "B": "protos", "E": "explanations", "A": "evaluator", "C": "copies", "S": "reducing",
         "D": "devices and back ends"}
STRING = r'"((?:[^"\\]|\\.)*)"'


def read(name):
    with open(os.path.join(INCLUDE, name), encoding="utf-8") as file:
        # Adjacent string literals are one.
        return re.sub(r'"\s*\n\s*"', "", file.read())


def source(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def rows(name, macro, strings):
    pattern = rf"(?m)^{macro}\(\s*(\w+),\s*" + r",\s*".join([STRING] * strings) + r"\s*\)"
    return [[cell.replace('\\"', '"') for cell in row] for row in re.findall(pattern, read(name))]


def table(head, lines):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(out + ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines])


def layout_rules():
    rules = [[f"`{name}`", section, reason] for _, name, section, reason
             in rows("layout_trace_rules.def", "HLOKIT_TRACE_RULE", 3) if name != "none"]
    outcomes = [[name, section, text] for _, name, section, text
                in rows("layout_trace_outcomes.def", "HLOKIT_TRACE_OUTCOME", 3)]
    used = sorted({row[1] for row in rules + outcomes if row[1]}, key=lambda s: [int(n) for n in s.split(".")])
    return f"""# Rules of layout assignment, as reports name them

Written by `scripts/make_reference.py` from `include/hlokit/layout_trace_rules.def` and
`layout_trace_outcomes.def`. The background is in [concepts](../concepts.md).

## Why a layout was asked for

{table(["rule", "section", "this layout was asked for because"], rules)}

## What became of a request

{table(["outcome", "section", "meaning"], outcomes)}

## Sections

The numbers are those of the project's specification of the pass.

{table(["section", "about"], [[s, SECTIONS[s]] for s in used])}
"""


# What the section numbers of backend rules stand for.
BACKEND_SECTIONS = {
    "1.4": "decisions that a backend may take over",
    "2.1": "the rules of the CPU",
    "2.2": "convolutions that may run in the Eigen library",
    "2.3": "kernels of matrix products",
    "2.4": "constants that are only read column by column",
    "4.2": "NCHW or NHWC",
    "4.4": "convolutions that are no custom calls yet",
    "4.5": "matrix products on a GPU",
    "4.6": "other operations on a GPU",
    "4.7": "moves between device and host",
    "4.9": "reshapes with dimensions of size 1",
}
# The introduction of each part of the page.
BACKEND_PARTS = {
    "cpu": """Instruction by instruction in the order of the text; at each the first rule that fits. Requests are
mandatory and depth first. `cpu.row-major` is what is left for every operand that nothing else spoke of, so that in
practice everything on a CPU becomes row major, except for layouts that the entry or a custom call fixes, constants that
are read column by column, and the two collectives.""",
    "gpu": """Users before operands, so that the operation nearest to the root is queued first. Requests are mandatory
and depth first, except for `gpu.dot.free-parameter`, which is a wish. The rules look at the layouts that the module
comes with: an operand of a matrix product that will do as it is stays as it is.""",
}


def backend_rules():
    found = re.findall(r'(?m)^HLOKIT_BACKEND_RULE\((\w+), "([^"]*)", "([^"]*)", "([^"]*)", "([^"]*)"\)',
                       read("backend_rules.def"))
    parts = []
    for backend, introduction in BACKEND_PARTS.items():
        lines = [[f'<a id="{name}"></a>`{name}`', section, reason] for _, name, of, section, reason in found
                 if of == backend]
        parts.append(f"## {backend.upper()}\n\n{introduction}\n\n{table(['rule', 'section', 'reason'], lines)}\n")
    used = sorted({row[3] for row in found}, key=lambda s: [int(n) for n in s.split(".")])
    flags = [[f"`{name}`", fallback, meaning] for name, fallback, meaning in
             re.findall(r'(?m)^HLOKIT_BACKEND_FLAG\(\w+, "([^"]*)", (\w+), "[^"]*", "([^"]*)"\)',
                        read("backend_flags.def"))]
    choices = re.findall(r'\{ConvLayout::k(\w+), "(H\d+)", "([^"]*)"\}',
                         re.sub(r"\s*\n\s*", " ", source("src/backend/gpu_convolution.cc")))
    names = {"NchwVectC": "NCHW with vectors", "Nchw": "NCHW", "Nhwc": "NHWC"}
    rows_of_choices = [[row, names[layout], reason] for layout, row, reason in choices]
    devices = [[f"`{name}`", backend[1:].lower(), "" if vendor == "kNone" else vendor[1:].lower(), architecture,
                " ".join(f"`{alias}`" for alias in aliases.split()), summary]
               for backend, vendor, name, aliases, architecture, summary in
               re.findall(r'(?m)^HLOKIT_DEVICE\((\w+), (\w+), "([^"]*)", "([^"]*)", "([^"]*)", "([^"]*)"\)',
                          source("src/backend/devices.def"))]
    return f"""# Rules of backends, as reports name them

Written by `scripts/make_reference.py` from `include/hlokit/backend_rules.def`, `backend_flags.def`,
`src/backend/devices.def` and the table in `src/backend/gpu_convolution.cc`. How to use them is in
[backend options](backend-options.md).

{{device}}, {{library}} and {{type}} in a reason are filled in by reports: "cuDNN on sm_80 reads f16 convolutions as
NHWC".

{chr(10).join(parts)}
## Which arrangement a convolution gets

The first row that applies, for input, filter and output alike. Reports name the row in brackets.

{table(["row", "arrangement", "because"], rows_of_choices)}

## Flags

Given with `--xla-flag NAME=VALUE`, in the option `xla-flags` of the pass, or in a device file. Only GPU rules read
flags.

{table(["flag", "default", "meaning"], flags)}

## Devices

`-` and `_` in names are the same, and so are capitals and small letters.

{table(["name", "backend", "vendor", "capability or architecture", "other names", "what"], devices)}

## Sections

The numbers are those of the project's specification of the backends.

{table(["section", "about"], [[s, BACKEND_SECTIONS[s]] for s in used])}
"""


def diagnostics():
    parts = []
    names = sorted(n for n in os.listdir(INCLUDE) if re.fullmatch(r"diagnostics\w*\.def", n))
    found = [row for name in names for row in rows(name, "HLOKIT_DIAGNOSTIC", 2)]
    for letter in sorted({code[0] for _, code, _ in found}, key="IURLVEDPCASBTNX".find):
        lines = sorted([code, text] for _, code, text in found if code[0] == letter)
        parts.append(f"## {letter}: {AREAS.get(letter, letter)}\n\n{table(['code', 'meaning'], lines)}\n")
    return """# Diagnostics

Written by `scripts/make_reference.py` from `include/hlokit/diagnostics*.def`. The code stands in brackets at the end
of a message. Codes are stable.

""" + "\n".join(parts)


def main():
    stale = 0
    for name, text in (("layout-rules.md", layout_rules()), ("backends.md", backend_rules()),
                       ("diagnostics.md", diagnostics())):
        path = os.path.join(ROOT, "docs", "reference", name)
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        if old == text:
            continue
        if "--check" in sys.argv:
            print(f"docs/reference/{name} is not up to date: run scripts/make_reference.py")
            stale = 1
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    return stale


if __name__ == "__main__":
    sys.exit(main())
