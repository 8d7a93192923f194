#!/usr/bin/env python3
"""Seeds of fuzz_neuron: neuron_seeds.py FOLDER. The first byte of a seed chooses the reader."""
import glob
import os
import pickle
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def seeds():
    value = {"w": [1, -2, 3.5, True, None, 1 << 40], "t": (b"bytes", "text", ()), "d": {"n": {}}}
    for protocol in (2, 3, 4, 5):
        yield 0, pickle.dumps(value, protocol)
    # An array as numpy pickles it: a global, a tuple of arguments, a state.
    yield 0, (b"\x80\x02cnumpy.core.multiarray\n_reconstruct\nq\x00cnumpy\nndarray\nq\x01K\x00\x85q\x02c_codecs\nencode\n"
              b"q\x03X\x01\x00\x00\x00bq\x04X\x06\x00\x00\x00latin1q\x05\x86q\x06Rq\x07\x87q\x08Rq\t(K\x01K\x02\x85q\ncnumpy\n"
              b"dtype\nq\x0bX\x02\x00\x00\x00u1q\x0c\x89\x88\x87q\rRq\x0e(K\x03X\x01\x00\x00\x00|q\x0fNNNJ\xff\xff\xff\xffJ\xff"
              b"\xff\xff\xffK\x00tq\x10b\x89h\x03X\x02\x00\x00\x00\x01\x02q\x11h\x05\x86q\x12Rq\x13tq\x14b.")
    for version, length in ((1, 2), (2, 4), (3, 4)):
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"
        yield 1, b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(length, "little") + header + bytes(24)
    yield 2, b'[{"input_name": "w", "reshape": [3, 16, 128], "transpose": [0, 2, 1]}, {"input_name": "v", "reshape": [], "transpose": []}]'
    yield 3, b'{"PartMap": {"a": {"PartIOs": {"Inputs": {"local": "input0"}}}}, "IntermediateIOs": ["edge"]}'
    yield 3, b'{"PartMap": [{"PartIOs": {"Inputs": {"local": "input0"}, "Outputs": {"x": "y"}}}]}'
    for path in glob.glob(os.path.join(HERE, "../../examples/devices/*.json")):
        with open(path, "rb") as file:
            yield 4, file.read()


for number, (kind, contents) in enumerate(seeds()):
    with open(os.path.join(sys.argv[1], f"seed-{number:02}"), "wb") as file:
        file.write(bytes([kind]) + contents)
