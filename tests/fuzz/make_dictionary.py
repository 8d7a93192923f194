#!/usr/bin/env python3
"""Writes tests/fuzz/hlo.dict from the tables: opcodes, attributes, element types, keywords.

  make_dictionary.py > tests/fuzz/hlo.dict
"""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "..", "..", "include", "hlokit")
KEYWORDS = ["HloModule", "ENTRY", "ROOT", "true", "false", "inf", "nan", "maximal", "replicated", "manual",
            "FileNames", "FunctionNames", "FileLocations", "StackFrames", "last_tile_dim_replicate",
            "entry_computation_layout={(", "input_output_alias={", "is_scheduled=true", ")->", "->", "<=", "...",
            "parameter(0)", "parameter(1)", "constant({...})", "{1,0}", "{0,1}", "{2,1,0:T(8,128)S(5)}",
            "dim_labels=b01f_01io->b01f", "window={size=3x3 pad=1_1x1_1 stride=2x2}", "[2,2]<=[4]", "/*index=5*/"]


def column(name):
    with open(os.path.join(INCLUDE, name), encoding="utf-8") as file:
        return [m for m in re.findall(r'(?m)^HLOKIT_\w+\(\w+, "([^"]+)"', file.read())]


def main():
    words = column("opcodes.def") + [a + "=" for a in column("attributes.def")]
    words += [t + "[" for t in column("element_types.def")] + KEYWORDS
    print("# Written by tests/fuzz/make_dictionary.py.")
    for word in dict.fromkeys(words):
        print('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"')


if __name__ == "__main__":
    main()
