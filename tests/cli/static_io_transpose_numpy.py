#!/usr/bin/env python3
"""The whole flow of static-io-transpose against numpy: static_io_transpose_numpy.py STATIC_IO_TRANSPOSE"""

import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("SKIP: numpy is not installed; run scripts/setup.sh, or: pip install numpy")
    sys.exit(77)

TOOL = sys.argv[1]
ROOT = pathlib.Path(tempfile.mkdtemp(prefix="static-io-transpose-"))
failures = 0


def check(good, what):
    global failures
    if not good:
        failures += 1
        print("FAIL:", what)


def run(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def expected(array, entry):
    return np.ascontiguousarray(np.transpose(np.reshape(array, entry["reshape"]), entry["transpose"]))


rng = np.random.default_rng(1)
arrays = {
    "input0": rng.standard_normal((6144, 256), dtype=np.float32),
    "input1": np.asfortranarray(rng.standard_normal((24, 36), dtype=np.float32)),
    "bf16": np.frombuffer(rng.bytes(2 * 768 * 768), dtype="|V2").reshape(768, 768),
    "fp8": np.frombuffer(rng.bytes(64 * 48), dtype="|V1").reshape(64, 48),
    "plain": np.arange(5),
}
entries = [
    {"input_name": "input0", "reshape": [3, 16, 128, 2, 2, 64], "transpose": [0, 4, 5, 3, 1, 2]},
    {"input_name": "input1", "reshape": [4, 6, 36], "transpose": [1, 2, 0]},
    {"input_name": "bf16", "reshape": [768, 768], "transpose": [1, 0]},
    {"input_name": "fp8", "reshape": [64, 3, 16], "transpose": [2, 0, 1]},
]

for protocol in (2, 4, 5):
    work = ROOT / f"protocol{protocol}"
    for folder in ("sg00", "nc0/sg01"):
        (work / folder).mkdir(parents=True)
    (work / "io_transposes.json").write_text(json.dumps(entries))
    (work / "inp-000.p").write_bytes(pickle.dumps(arrays, protocol))
    np.save(work / "value_plain.npy", arrays["plain"])

    result = run(work, "--verify")
    check(result.returncode == 0 and "4 inputs transposed" in result.stderr, result.stderr)
    moved = pickle.loads((work / "inp-000.p").read_bytes())
    check(list(moved) == list(arrays), "order of the inputs")
    specs = {entry["input_name"]: entry for entry in json.loads((work / "io_transposes.json").read_text())}
    check(specs["input0"]["reshape"] == [3, 2048, 2, 128] and specs["input0"]["transpose"] == [0, 3, 2, 1], "the seed's example")
    for entry in entries:
        name = entry["input_name"]
        want = expected(arrays[name], entry)
        # The simplified entry moves every element to the same place; only the split of dimensions differs.
        simple = expected(arrays[name], specs[name])
        check(want.tobytes() == simple.tobytes(), f"simplified entry of {name}")
        check(same(moved[name], simple), f"pickle, {name}")
        check(same(np.load(work / f"transposed_inputs/value_{name}.npy"), simple), f"npy, {name}")
        for folder in ("sg00", "nc0/sg01"):
            link = work / folder / f"value_{name}.npy"
            check(os.readlink(link) == os.path.realpath(work / f"transposed_inputs/value_{name}.npy"), f"link {link}")
    check(same(np.load(work / "sg00/value_plain.npy"), arrays["plain"]), "the untransposed input through its link")

    snapshot = (work / "inp-000.p").read_bytes()
    result = run(work, "--verify")
    check(result.returncode == 0 and "nothing changed" in result.stderr, result.stderr)
    check((work / "inp-000.p").read_bytes() == snapshot, "a second run changes nothing")
    result = run(work, "--invert")
    check(result.returncode == 0, result.stderr)
    back = pickle.loads((work / "inp-000.p").read_bytes())
    for name, array in arrays.items():
        check(back[name].dtype == array.dtype and back[name].shape == array.shape
              and np.ascontiguousarray(array).tobytes() == np.ascontiguousarray(back[name]).tobytes(), f"--invert, {name}")
    check((work / "io_transposes.json").read_text() == json.dumps(entries), "--invert, io_transposes.json")

(ROOT / "empty").mkdir()
result = run(ROOT / "empty")
check(result.returncode == 0 and "nothing to do" in result.stderr, result.stderr)
check(run("--no-such-flag").returncode == 2, "usage errors end with 2")
check(run(ROOT / "missing").returncode == 6, "a missing folder ends with 6")
(ROOT / "empty/io_transposes.json").write_text('[{"input_name": "a",\n "reshape": ["1"], "transpose": [0]}]')
(ROOT / "empty/inp-000.p").write_bytes(pickle.dumps({}, 4))
result = run(ROOT / "empty")
check(result.returncode == 3 and "io_transposes.json:2:14: error: type must be number, but is string" in result.stderr, result.stderr)
print(f"{failures} failures, numpy {np.__version__}")
sys.exit(1 if failures else 0)
