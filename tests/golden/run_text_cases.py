#!/usr/bin/env python3
"""Runs the accept/reject cases of the text format through `hlokit fmt`.

  run_text_cases.py --bin build/release [--case ID] [--group A] [--show N] [--failures FILE]

Exit status 0 when all cases that can run pass. The format of the case files is described in
tests/golden/text_cases/README.md.
"""
import argparse
import concurrent.futures
import difflib
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# Options of a case -> flags of `hlokit fmt`; None = hlokit has no such form of printing or reading.
FLAGS = {
    "tolerant": [],
    "no-fill": ["--no-fill"],
    "large-constants": ["--large-constants"],
    "operand-shapes": ["--operand-shapes"],
    "short": ["--style", "short"],
    "canonical": ["--style", "canonical"],
    "fingerprint": ["--style", "fingerprint"],
    "compact-tuple-access": ["--compact-gte"],
    "async-sugar": ["--async-sugar"],
    "renumber": None,
}

# Texts of one value are tried inside a module. The value stands at the place of the {} on one line.
WRAPPERS = {
    "shape": "HloModule wrapper\n\nENTRY e {{\n  ROOT x = {} parameter(0)\n}}\n",
    "sharding": "HloModule wrapper\n\nENTRY e {{\n  ROOT x = f32[] parameter(0), sharding={}\n}}\n",
    "replica_groups": "HloModule wrapper\n\nENTRY e {{\n  p = f32[] parameter(0)\n"
                      "  ROOT x = f32[] collective-broadcast(p), replica_groups={}\n}}\n",
    "window": "HloModule wrapper\n\nENTRY e {{\n"
              "  ROOT x = f32[] custom-call(), window={{{}}}, custom_call_target=\"t\"\n}}\n",
}


def parse_file(path):
    """The cases of one file, as dicts with id, title, kind, options, verdict, position, input, output."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    for section in re.split(r"(?m)^==== ", text)[1:]:
        head, body = section.split("\n---- input\n", 1)
        lines = head.split("\n")
        case = {"id": lines[0].split(" ", 1)[0], "title": lines[0].split(" ", 1)[1], "options": [],
                "position": None, "why": None}
        for line in lines[1:]:
            key, _, value = line.partition(":")
            value = value.strip()
            if key in ("accept", "reject"):
                case["verdict"], case["position"] = key, value or None
            elif key == "options":
                case["options"] = value.split()
            elif key in ("kind", "why"):
                case[key] = value
            else:
                raise ValueError(f"{path}: {case['id']}: unknown line '{line}'")
        given, _, expected = body.partition("\n---- output\n")
        case["input"], case["output"] = given.rstrip("\n"), expected.rstrip("\n")
        yield case


def load_cases():
    """Cases by id, departures put in the place of what they replace."""
    cases = {}
    for path in sorted(glob.glob(os.path.join(HERE, "text_cases", "[A-Z]*.cases"))):
        for case in parse_file(path):
            assert case["id"] not in cases, case["id"]
            cases[case["id"]] = case
    departures = os.path.join(HERE, "text_cases", "departures.cases")
    if os.path.exists(departures):
        for case in parse_file(departures):
            assert case["id"] in cases and case["why"], case["id"]
            cases[case["id"]] = case
    return cases


def wrapped(case):
    """The module to read, and how far the wrapper moves a position (lines, columns)."""
    wrapper = WRAPPERS.get(case["kind"])
    if wrapper is None:
        return case["input"], 0, 0
    before = wrapper.split("{}", 1)[0].replace("{{", "{").replace("}}", "}")
    if case["kind"] == "window":
        before = wrapper[:wrapper.index("{}")].replace("{{", "{")
    line = before.count("\n")
    return wrapper.format(case["input"]), line, len(before) - before.rfind("\n") - 1


def printed_value(case, text):
    """What hlokit made of a single value: the part of the printed ROOT line that holds it."""
    if case["kind"] not in WRAPPERS:
        return text
    root = re.search(r"(?m)^  ROOT %x = (.*)$", text)
    line = root.group(1) if root else ""
    patterns = {"shape": r"(.*) parameter\(0\)$", "sharding": r".*?, sharding=(.*)$",
                "replica_groups": r".*?, replica_groups=(.*)$",
                "window": r".*?, window=\{(.*?)\}, custom_call_target"}
    found = re.match(patterns[case["kind"]], line)
    return found.group(1) if found else ""


def run_case(case, binary):
    """-> (state, detail): state is pass, fail or skip."""
    if case["kind"] == "to_proto":
        return "skip", "the recorded result is a description, see the proto unit tests"
    flags = [] if "tolerant" in case["options"] else ["--strict"]
    for option in case["options"]:
        if FLAGS[option] is None:
            return "skip", f"no printing or reading option '{option}'"
        flags += FLAGS[option]
    text, extra_lines, extra_columns = wrapped(case)
    try:
        done = subprocess.run([binary, "fmt", *flags, "-"], input=text.encode(),
                              capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "fail", "no answer within 60 s"
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if case["verdict"] == "accept":
        if done.returncode != 0:
            return "fail", f"should be accepted, exit code {done.returncode}\n{err}"
        got, want = printed_value(case, out).rstrip("\n"), case["output"]
        if got != want:
            return "fail", "prints something else\n" + "\n".join(difflib.unified_diff(
                want.split("\n"), got.split("\n"), "expected", "got", lineterm="", n=1))
        return "pass", ""
    if done.returncode != 3:
        return "fail", f"should be refused with exit code 3, exit code {done.returncode}\n{out}{err}"
    if out:
        return "fail", f"refused, but standard output is not empty\n{out}"
    place = re.search(r"(?m)^.*?:(\d+):(\d+): error", err)
    if case["position"] is None and "error" in err:
        return "pass", ""
    if place is None:
        return "fail", f"no place in the message\n{err}"
    if case["position"] is not None:
        line, column = map(int, case["position"].split(":"))
        if case["kind"] in WRAPPERS:
            # Behind the end of the value stands the blank of the wrapper, then the next token.
            at_end = column > len(case["input"]) and case["kind"] == "shape"
            line, column = line + extra_lines, column + extra_columns + at_end
        if (line, column) != (int(place.group(1)), int(place.group(2))):
            return "fail", f"first error expected at {line}:{column}\n{err}"
    return "pass", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds hlokit")
    parser.add_argument("--case", help="only this case; shows its input")
    parser.add_argument("--group", help="only this group")
    parser.add_argument("--show", type=int, default=20, help="show at most this many failures")
    parser.add_argument("--failures", help="write all failures to this file")
    args = parser.parse_args()
    binary = os.path.join(args.bin, "hlokit")
    cases = [case for case in load_cases().values()
             if args.case in (None, case["id"]) and args.group in (None, case["id"][0])]
    score = {"pass": 0, "fail": 0, "skip": 0}
    skipped, failures = {}, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, (state, detail) in zip(cases, pool.map(lambda case: run_case(case, binary), cases)):
            score[state] += 1
            if state == "skip":
                skipped[detail] = skipped.get(detail, 0) + 1
            if state == "fail":
                failures.append(f"{case['id']} {case['title']}\n  " + detail.rstrip().replace("\n", "\n  "))
            if args.case:
                print(case["input"], "\n--", state, detail)
    if args.failures:
        with open(args.failures, "w", encoding="utf-8") as file:
            file.write("\n\n".join(failures) + "\n")
    for failure in failures[:args.show]:
        print(failure)
    for reason, count in sorted(skipped.items()):
        print(f"skipped {count}: {reason}")
    print(f"text cases: {score['pass']} passed, {score['fail']} failed, {score['skip']} skipped")
    return 1 if failures or score["pass"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
