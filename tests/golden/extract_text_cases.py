#!/usr/bin/env python3
"""Turns the accept/reject cases of the specification into the case files of tests/golden/text_cases.

  extract_text_cases.py SPEC/hlo-text-cases.md tests/golden/text_cases

Run once per new version of the specification. The case files are described in
tests/golden/text_cases/README.md. The specification counts columns from 0 on the first line of a
text and from 1 on all others; hlokit counts from 1 everywhere, so first-line columns grow by one here.
"""
import os
import re
import sys

# Prose in front of the input that says how it is read or printed -> (kind, options of the case).
READING = {
    "Stand-alone shape text.": ("shape", []),
    "Stand-alone sharding text; printed with metadata.": ("sharding", []),
    "Stand-alone replica-group text.": ("replica_groups", []),
    "Stand-alone window text.": ("window", []),
    "Reader option: missing layouts are not filled in.": ("module", ["no-fill"]),
    "Printed with large constants switched on and async sugar off.": ("module", ["large-constants"]),
    "Reader option: elided constants are kept as zero-valued literals instead of being filled with "
    "random values.": ("module", []),
    "Printed with compact tuple access switched on.": ("module", ["compact-tuple-access"]),
    "Printed with operand shapes switched on (async sugar on).": ("module", ["operand-shapes"]),
    "Printed with the short-parsable option set.": ("module", ["short"]),
    "Printed with the canonical option set.": ("module", ["canonical"]),
    "Printed with the fingerprint option set.": ("module", ["fingerprint"]),
    "Printed with the plain default option set (async sugar on).": ("module", ["async-sugar"]),
    "Read as text, converted to `HloModuleProto`.": ("to_proto", []),
    "Renumbering loader.": ("from_proto", ["renumber"]),
}


def parse_case(text, group):
    """One '### ID Title' section -> dict."""
    lines = text.split("\n")
    identifier, title = re.match(r"### (\S+) (.*)", lines[0]).groups()
    case = {"id": identifier, "title": title, "input": None, "output": None, "verdict": None,
            "kind": "from_proto" if group == "P" else "module", "options": [], "position": None}
    block = None
    for line in lines[1:]:
        if line.startswith("```"):
            if block is None:
                block = []
            else:
                case["input" if case["input"] is None else "output"] = "\n".join(block)
                block = None
        elif block is not None:
            block.append(line)
        elif line.startswith("**Accept**"):
            case["verdict"] = "accept"
        elif line.startswith("**Reject**"):
            case["verdict"] = "reject"
            place = re.match(r"\*\*Reject\*\*, `(\d+):(\d+)`", line)
            if place:
                row, column = int(place.group(1)), int(place.group(2))
                case["position"] = f"{row}:{column + 1 if row == 1 else column}"
        elif line.strip() and case["input"] is None:
            case["kind"], case["options"] = READING[line.strip()]
    assert case["input"] is not None and case["verdict"], identifier
    assert (case["output"] is not None) == (case["verdict"] == "accept"), identifier
    for body in (case["input"], case["output"] or ""):
        assert not re.search(r"(?m)^(====|----)", body), identifier
    return case


def render(case):
    head = [f"==== {case['id']} {case['title']}", f"kind: {case['kind']}"]
    if case["options"]:
        head.append("options: " + " ".join(case["options"]))
    verdict = case["verdict"]
    head.append(verdict + (f": {case['position']}" if case["position"] else ""))
    parts = head + ["---- input", case["input"]]
    if verdict == "accept":
        parts += ["---- output", case["output"]]
    return "\n".join(parts) + "\n"


def main():
    source, target = sys.argv[1:]
    groups = {}
    with open(source, encoding="utf-8") as file:
        sections = re.split(r"(?m)^(?=##)", file.read())
    for section in sections:
        if section.startswith("### "):
            case = parse_case(section, re.match(r"### ([A-Z])", section).group(1))
            groups.setdefault(case["id"][0], []).append(case)
    for group, cases in sorted(groups.items()):
        with open(os.path.join(target, group + ".cases"), "w", encoding="utf-8") as file:
            file.write("\n".join(render(case) for case in cases))
    print({group: len(cases) for group, cases in groups.items()}, sum(map(len, groups.values())))


if __name__ == "__main__":
    main()
