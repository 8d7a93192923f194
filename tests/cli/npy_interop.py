#!/usr/bin/env python3
"""Interoperation of src/tensor with the real numpy, in both directions: npy_interop.py TENSOR_TOOL"""

import io
import itertools
import pathlib
import pickle
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
except ImportError:
    print("SKIP: numpy is not installed; run scripts/setup.sh, or: pip install numpy")
    sys.exit(77)

warnings.simplefilter("error")
TOOL = sys.argv[1]
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="npy-interop-"))
failures = 0


def check(good, what):
    global failures
    if not good:
        failures += 1
        print("FAIL:", what)


def run(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True)


def same(a, b):
    return (type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape
            and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes())


def filled(dtype, shape):
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.random.default_rng(count + len(str(dtype))).integers(0, 256, count, dtype=np.uint8)
    return np.frombuffer(raw.tobytes(), dtype=dtype).reshape(shape)


DTYPES = ["?", "i1", "u1", "<i2", ">i2", "<u4", "<i8", ">u8", "<f2", "<f4", ">f4", "<f8", "<f16", "<c8", "<c16", "|V1",
          "|V2", "|V3", "|S5", "<U3", ">U3", "<M8[ns]", "<m8[D]", [("a", "<i4"), ("b", "|V2", (2, 3))],
          [("x", [("y", "<f8"), ("z", "|u1")]), (("title", "w"), "<u2")]]


def permute_npy():
    cases = [((), (), ()), ((0, 3), (3, 0), (1, 0)), ((6,), (2, 3), (1, 0)), ((4, 6), (2, 2, 6), (2, 0, 1)),
             ((5, 7, 3), (5, 7, 3), (2, 1, 0)), ((5, 7, 3), (7, 15), (1, 0)), ((2, 3, 4, 5), (6, 20), (1, 0))]
    for dtype, (shape, reshape, transpose), order in itertools.product(DTYPES, cases, "CF"):
        array = filled(dtype, shape)
        array = np.asfortranarray(array) if order == "F" and len(shape) > 1 else array
        np.save(FOLDER / "in.npy", array)
        result = run("permute", FOLDER / "in.npy", f"--reshape={list(reshape)}", f"--transpose={list(transpose)}",
                     "-o", FOLDER / "out.npy")
        expected = np.ascontiguousarray(np.transpose(np.reshape(array, reshape), transpose)).reshape(
            [reshape[axis] for axis in transpose])
        check(result.returncode == 0, f"{dtype} {shape} {order}: {result.stderr}")
        if result.returncode == 0:
            check(same(np.load(FOLDER / "out.npy"), expected), f"{dtype} {shape} {reshape} {transpose} {order}")
            # The bytes are exactly what numpy itself would write.
            np.save(FOLDER / "numpy.npy", expected)
            if np.dtype(dtype).names is None:
                check((FOLDER / "numpy.npy").read_bytes() == (FOLDER / "out.npy").read_bytes(), f"bytes of {dtype} {shape}")


def versions():
    array = filled("<i4", (3, 5))
    for version in [(1, 0), (2, 0), (3, 0)]:
        with open(FOLDER / "in.npy", "wb") as file:
            np.lib.format.write_array(file, array, version)
        run("permute", FOLDER / "in.npy", "-o", FOLDER / "out.npy")
        check(same(np.load(FOLDER / "out.npy"), np.ascontiguousarray(array.T)), f"version {version}")
    # A header of more than 64 KiB needs version 2, a name outside latin-1 version 3.
    for names in [[f"field_{i:05}" for i in range(4000)], ["\u03b1", "b"], ["\u00e4", "b"]]:
        array = filled([(name, "<u2") for name in names], (2, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.save(FOLDER / "in.npy", array)
        result = run("permute", FOLDER / "in.npy", "-o", FOLDER / "out.npy")
        check(result.returncode == 0, f"names {names[0]}: {result.stderr}")
        check(same(np.load(FOLDER / "out.npy", max_header_size=1 << 20), np.ascontiguousarray(array.T)), f"names {names[0]}")


def broken_npy():
    buffer = io.BytesIO()
    np.save(buffer, filled("<f4", (10, 10)))
    good = buffer.getvalue()
    lies = {
        "T010": [b"", good[:9], good[:5], b"PK\x03\x04" + good, b"x" + good],
        "T011": [good[:6] + b"\x04" + good[7:], good[:6] + b"\x00" + good[7:]],
        "T012": [good[:10], good[:60], good.replace(b"'descr'", b"'other'"), good.replace(b"(10, 10)", b"(10, -1)"),
                 good.replace(b"False", b"Maybe"), good.replace(b"(10, 10)", b"(10 10) "), good[:8] + b"\xff\xff" + good[10:],
                 good.replace(b"(10, 10), }", b"(1" + b"0" * 7 + b")}")],
        "T013": [good[:-1], good.replace(b"(10, 10)", b"(10, 99)"), good[:128]],
        "T014": [good + b"x", good.replace(b"(10, 10)", b"(10,  9)")],
        "T015": [good.replace(b"'<f4'", b"'|O' "), good.replace(b"<f4", b"<f5"),
                 good.replace(b"<f4", b"<q4")],
    }
    for code, texts in lies.items():
        for index, text in enumerate(texts):
            (FOLDER / "bad.npy").write_bytes(text)
            result = run("permute", FOLDER / "bad.npy", "-o", FOLDER / "never.npy")
            wanted = 4 if code == "T015" else 3
            check(result.returncode == wanted and f"[{code}]" in result.stderr, f"{code} case {index}: {result.stderr}")
            check(not (FOLDER / "never.npy").exists(), f"{code} case {index} left an output")


def equal(a, b):
    if isinstance(a, (np.ndarray, np.generic)):
        return same(a, b)
    if isinstance(a, dict):
        return type(b) is dict and list(a) == list(b) and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    return type(a) is type(b) and (a == b or a != a and b != b)


def pickles():
    shared = filled("<f4", (3, 4))
    values = [
        {}, [], (), None, True, False, 0, 255, 256, 65536, -1, -(2**31), 2**31, 2**62, -(2**63), 1.5, float("inf"), "", "\u00e4\u20ac",
        b"", b"\x00\xff", "x" * 300, b"y" * 70000, [1, [2, (3, {"a": [None]})]], (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4),
        {"input0": filled("<f4", (4, 5)), "input1": filled("|V2", (3, 2)), "input2": filled("|V1", (7,))},
        {"shared": [shared, shared]}, {"f": np.asfortranarray(filled("<i2", (3, 4, 5)))}, {"zero-d": filled("<f8", ())},
        {"empty": filled("<f4", (0, 3))}, {"strided": filled("<i4", (6, 6))[::2, ::3]}, {"be": filled(">f4", (3,))},
        {"s": filled("|S4", (2,)), "u": np.array(["ab", "c"]), "b": np.array([True, False])}, np.float32(1.5), {"k": np.int64(3)},
        {"large": filled("<u1", (300, 300))}, {"readonly": np.frombuffer(b"abcdefgh", dtype="<u2")},
        {i: (i, str(i)) for i in range(3000)},
    ]
    for value, protocol in itertools.product(values, [2, 3, 4, 5]):
        (FOLDER / "in.p").write_bytes(pickle.dumps(value, protocol))
        result = run("copy-pickle", FOLDER / "in.p", FOLDER / "out.p")
        check(result.returncode == 0, f"protocol {protocol} {str(value)[:60]}: {result.stderr}")
        if result.returncode == 0:
            back = pickle.loads((FOLDER / "out.p").read_bytes())
            # numpy itself turns big-endian arrays into native ones when it loads protocols up to 4.
            expected = pickle.loads(pickle.dumps(value, 4))
            check(equal(expected, back), f"protocol {protocol} {str(value)[:60]} became {str(back)[:60]}")
    back = pickle.loads((FOLDER / "out.p").read_bytes())
    (FOLDER / "in.p").write_bytes(pickle.dumps({"a": shared, "b": shared}, 4))
    run("copy-pickle", FOLDER / "in.p", FOLDER / "out.p")
    back = pickle.loads((FOLDER / "out.p").read_bytes())
    check(back["a"] is back["b"], "shared arrays stay shared")
    cycle = []
    cycle.append(cycle)
    (FOLDER / "in.p").write_bytes(pickle.dumps(cycle, 4))
    run("copy-pickle", FOLDER / "in.p", FOLDER / "out.p")
    back = pickle.loads((FOLDER / "out.p").read_bytes())
    check(back[0] is back, "a list that contains itself")
    deep = []
    for _ in range(100000):
        deep = [deep]
    # Python's own pickler recurses; the text is built by hand.
    (FOLDER / "in.p").write_bytes(b"\x80\x02" + b"]" * 100000 + b"a" * 99999 + b".")
    check(run("copy-pickle", FOLDER / "in.p", FOLDER / "out.p").returncode == 0, "a list nested 100000 deep")


class Evil:
    def __reduce__(self):
        return (eval, ("open('/tmp/never', 'w')",))


def hostile_pickles():
    good = pickle.dumps({"a": filled("<f4", (8, 8))}, 4)
    cases = [
        ("T022", pickle.dumps(Evil(), 4)), ("T022", pickle.dumps(Evil(), 2)), ("T022", b"\x80\x02cos\nsystem\n."),
        ("T022", pickle.dumps(np.dtype("f4").type, 4)), ("T021", pickle.dumps({1, 2}, 4)), ("T021", b"\x80\x02(i__main__\nX\n."),
        ("T021", b"\x80\x02P123\n."), ("T021", b"\x80\x05\x97."), ("T021", b"\x80\x02\xff."), ("T021", pickle.dumps(2**100, 4)),
        ("T023", b""), ("T023", b"hello"), ("T023", pickle.dumps([1], 0)), ("T023", b"\x80\x06N."), ("T023", b"\x80\x02."),
        ("T023", b"\x80\x02NN."), ("T023", b"\x80\x02h\x05."), ("T023", b"\x80\x02N)R."), ("T023", b"\x80\x02e."),
        ("T023", b"\x80\x02cnumpy\nndarray\n)R."), ("T023", b"\x80\x02cnumpy\nndarray\n."), ("T023", b"\x80\x02N."+b"x"),
        ("T024", good.replace(b"K\x08K\x08\x86", b"K\x08K\x09\x86")), ("T020", good[:-1]), ("T020", b"\x80\x04\x8e" + b"\xff" * 8),
        ("T020", b"\x80\x02X\xff\xff\xff\x7f."), ("T015", pickle.dumps(np.array([{}, 1], dtype=object), 4)),
        ("T015", pickle.dumps(np.array(["2020-01-01"], dtype="M8[D]"), 4)),
    ]
    for index, (code, text) in enumerate(cases):
        (FOLDER / "bad.p").write_bytes(text)
        result = run("copy-pickle", FOLDER / "bad.p", FOLDER / "never.p")
        check(result.returncode in (3, 4) and f"[{code}]" in result.stderr, f"hostile case {index}: {code} {result.stderr}")
        check(not (FOLDER / "never.p").exists(), f"hostile case {index} left an output")
    # Every truncation and every single-byte change ends with an answer, never with a signal.
    for end in range(len(good)):
        (FOLDER / "bad.p").write_bytes(good[:end])
        check(run("copy-pickle", FOLDER / "bad.p", FOLDER / "x.p").returncode == 3, f"truncation at {end}")
    head = good.index(b"B")  # BINBYTES or SHORT_BINBYTES: behind it are only elements
    rng = np.random.default_rng(5)
    for _ in range(100):
        text = bytearray(good)
        text[rng.integers(2, min(len(good), head + 8))] = rng.integers(0, 256)
        (FOLDER / "bad.p").write_bytes(bytes(text))
        check(run("copy-pickle", FOLDER / "bad.p", FOLDER / "x.p").returncode in (0, 3, 4), f"change {bytes(text)[:200]}")


permute_npy()
versions()
broken_npy()
pickles()
hostile_pickles()
print(f"{failures} failures, numpy {np.__version__}")
sys.exit(1 if failures else 0)
