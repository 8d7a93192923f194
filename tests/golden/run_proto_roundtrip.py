#!/usr/bin/env python3
"""A module that goes through a proto, or through a text proto, comes back as it was.

  run_proto_roundtrip.py --bin build/release [--folder DIR] [--show N]

For every module (those of the tests, or the .hlo files of DIR): text -> proto -> text and
text -> pbtxt -> text must print the same computations; only attributes of the header that a proto has no
field for may go (LOST). proto -> text -> proto must hold the same module, proto -> pbtxt -> proto the
same bytes. A text proto keeps neither sign nor payload of a NaN (docs/reference/formats.md); they are left out
of the comparison there.
"""
import argparse
import concurrent.futures
import difflib
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))

# Header attributes without a field in HloModuleProto (docs/reference/formats.md).
LOST = re.compile(rb"(replica_count|num_partitions|alias_passthrough_params|"
                  rb"allow_spmd_sharding_propagation_to_(parameters|output))=")

NAN = re.compile(rb"-?\bnan(\(0x[0-9a-f]+\))?")


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, timeout=300)
    return done.stdout if done.returncode == 0 else None


def read(path):
    with open(path, "rb") as file:
        return file.read()


def blocks(text):
    """Header line and computations, in a fixed order: a proto keeps another order of computations."""
    first, _, rest = text.partition(b"\n")
    return first, sorted(block.strip() for block in rest.split(b"\n\n"))


def check(job):
    """-> what is wrong, one line each; None where there is no text or no valid proto of the module."""
    hlokit, path = job
    text = run([hlokit, "fmt", "--large-constants", path])
    if text is None:
        return None
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        proto, pbtxt, again, back = (os.path.join(folder, name) for name in ("a.pb", "a.pbtxt", "b.pb", "c.pb"))
        done = subprocess.run([hlokit, "convert", path, "--to", "proto", "-o", proto], capture_output=True)
        if b"B013" in done.stderr:
            return None
        if done.returncode != 0:
            return [done.stderr.decode("utf-8", "replace")]
        run([hlokit, "convert", proto, "--to", "pbtxt", "-o", pbtxt])
        run([hlokit, "convert", pbtxt, "--to", "proto", "-o", back])
        for form in (proto, pbtxt):
            done = subprocess.run([hlokit, "fmt", "--large-constants", form], capture_output=True)
            if b"[B004]" in done.stderr:  # text may hold values that readers of protos refuse
                return None
            got = done.stdout
            want = text
            if form == pbtxt:
                got, want = NAN.sub(b"nan", got), NAN.sub(b"nan", text)
            if blocks(got)[1] != blocks(want)[1]:
                lines = difflib.unified_diff(text.decode().split("\n"), got.decode("utf-8", "replace").split("\n"), lineterm="", n=0)
                problems.append(f"{os.path.basename(form)}: other text\n  " + "\n  ".join(line[:300] for line in list(lines)[:8]))
            elif blocks(got)[0] != blocks(text)[0]:
                lost = set(blocks(text)[0].split(b", ")) ^ set(blocks(got)[0].split(b", "))
                if not all(LOST.match(part) for part in lost):
                    problems.append(f"{os.path.basename(form)}: the header loses {lost}")
        if b"nan" not in text and (not os.path.exists(back) or read(proto) != read(back)):
            problems.append("proto -> pbtxt -> proto: other bytes")
        # Ids and the order in which instructions are stored are not in a text, all else is.
        printed = run([hlokit, "fmt", "--large-constants", proto]) or b""
        run([hlokit, "convert", "-", "--to", "proto", "-o", again], printed)
        if blocks(run([hlokit, "fmt", "--large-constants", again]) or b"") != blocks(printed):
            problems.append("proto -> text -> proto: other contents")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder that holds hlokit")
    parser.add_argument("--folder", help="take the .hlo files of this folder")
    parser.add_argument("--show", type=int, default=5, help="show at most this many failures")
    args = parser.parse_args()
    hlokit = os.path.join(args.bin, "hlokit")
    files = sorted(glob.glob(os.path.join(args.folder, "*.hlo"))) if args.folder else \
        sorted(glob.glob(os.path.join(HERE, "data/inputs/*/*.hlo")) + glob.glob(os.path.join(ROOT, "examples/*.hlo")))
    good = bad = refused = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, problems in zip(files, pool.map(check, [(hlokit, path) for path in files])):
            refused += problems is None
            good += problems == []
            bad += bool(problems)
            if problems and bad <= args.show:
                print(f"{os.path.basename(path)}: " + "\n".join(problems))
    print(f"proto round trip: {good} stay the same, {bad} do not, {refused} have no proto form")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
