#!/usr/bin/env python3
"""Compares layout assignment with a second implementation, on all small graphs and on random larger ones.

  run_exhaustive.py --bin build/release [--every N] [--random N] [--seed S] [--show N]

Exhaustive: every graph of one or two parameters and as many instructions as make four in all, from the opcodes
below, over a few shapes of rank 1 to 3; for each, every choice of entry layouts (unset or any order, for each
parameter and the result). --every N takes each N-th of these modules. Random: N graphs of 5 to 14 instructions.
second_assignment.py says which modules it covers. Many modules go through one run of hlo-opt.
"""
import argparse
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile

from second_assignment import Inst, assign, default_layout

BATCH = 4000
RESHAPES = {(2, 3): [(3, 2), (2, 3, 1), (6,)], (2, 3, 4): [(6, 4), (2, 12), (4, 6)], (6, 4): [(2, 3, 4), (4, 6)],
            (3, 2): [(2, 3)], (2, 12): [(2, 3, 4)], (4, 6): [(4, 2, 3)], (6,): [(2, 3)], (2, 3, 1): [(2, 3), (6,)],
            (4, 2, 3): [(4, 6)], (4, 3, 2): [(12, 2)], (12, 2): [(4, 3, 2)]}
BROADCASTS = {(2, 3): [((2, 3, 4), (0, 1)), ((4, 2, 3), (1, 2))], (3, 2): [((3, 4, 2), (0, 2))],
              (6,): [((6, 4), (0,))], (6, 4): [((6, 2, 4), (0, 2))]}


def shapes_of(graph):
    return [i for i in graph if i.opcode != "tuple"]


def candidates(graph):
    """Every instruction that may come next: (opcode, sizes, operand numbers, attributes)."""
    arrays = [n for n, i in enumerate(graph) if i.is_array()]
    for n in arrays:
        s = graph[n].sizes
        yield "negate", s, (n,), {}
        yield "copy", s, (n,), {}
        if len(s) > 1:
            perms = list(itertools.permutations(range(len(s))))
            for p in perms[1:] if len(s) == 2 else [perms[2], perms[3], perms[5]]:
                yield "transpose", tuple(s[d] for d in p), (n,), {"dims": p}
            for d in range(len(s)):
                yield "reduce", s[:d] + s[d + 1:], (n,), {"dims": (d,)}
        for target in RESHAPES.get(s, []):
            yield "reshape", target, (n,), {}
        for target, dims in BROADCASTS.get(s, []):
            yield "broadcast", target, (n,), {"dims": dims}
        for m in arrays:
            if graph[m].sizes == s:
                yield "add", s, (n, m), {}
            t = graph[m].sizes
            if len(s) == 2 and len(t) == 2 and s[1] == t[0]:
                yield "dot", (s[0], t[1]), (n, m), {}
            if len(s) > 1 and len(s) == len(t) and s[1:] == t[1:]:
                yield "concatenate", (s[0] + t[0],) + s[1:], (n, m), {"dims": (0,)}


def extend(graph, choice):
    opcode, sizes, operands, attrs = choice
    return graph + [Inst(f"i{len(graph)}", opcode, sizes, [graph[n] for n in operands], attrs)]


def all_graphs():
    for shapes in [((2, 3),), ((2, 3, 4),), ((6, 4),), ((2, 3), (2, 3)), ((2, 3), (3, 2)), ((2, 3, 4), (2, 3, 4))]:
        start = [Inst(f"p{k}", "parameter", s, [], {"number": k}) for k, s in enumerate(shapes)]
        stack = [start]
        while stack:
            graph = stack.pop()
            if len(graph) > len(start):
                yield graph
            if len(graph) < 4:
                stack += [extend(graph, choice) for choice in candidates(graph)]
        # Both parameters as a tuple, the last in each order.
        for n, m in itertools.product(range(len(start)), repeat=2):
            yield start + [tuple_of([start[n], start[m]], len(start))]


def tuple_of(parts, number):
    return Inst(f"i{number}", "tuple", [p.sizes for p in parts], list(parts), {}, ["f32"] * len(parts))


def pins(inst):
    """Every choice of layouts of a parameter or result, as {index: layout or None}."""
    leaves = inst.leaves()
    options = []
    for _, sizes in leaves:
        orders = [tuple(p) for p in itertools.permutations(range(len(sizes)))] if sizes else [()]
        options.append(([None] if sizes else []) + orders)
    for choice in itertools.product(*options):
        yield {index: layout for (index, _), layout in zip(leaves, choice)}


def copied(graph):
    """Fresh instructions, since the pass edits them."""
    twin = {}
    for inst in graph:
        twin[id(inst)] = Inst(inst.name, inst.opcode, inst.sizes, [twin[id(o)] for o in inst.operands], dict(inst.attrs),
                              inst.type, None)
    return list(twin.values())


def random_graph(rng):
    shapes = rng.choice([((2, 3),), ((2, 3, 4),), ((2, 3, 4), (2, 3, 4)), ((6, 4), (2, 12)), ((2, 3), (3, 2), (4, 2, 3))])
    graph = [Inst(f"p{k}", "parameter", s, [], {"number": k}) for k, s in enumerate(shapes)]
    for _ in range(rng.randint(4, 12)):
        choices = list(candidates(graph))
        kinds = sorted({c[0] for c in choices})
        kind = rng.choice(kinds)
        graph = extend(graph, rng.choice([c for c in choices if c[0] == kind]))
        if graph[-1].sizes == () or max(graph[-1].sizes) > 64:
            graph.pop()
    if rng.random() < 0.5:
        parts = [rng.choice([i for i in graph if i.is_array()]) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.5:
            barrier = tuple_of(parts, len(graph))
            graph.append(barrier)
            graph.append(Inst(f"i{len(graph)}", "opt-barrier", list(barrier.sizes), [barrier], {}, list(barrier.type)))
            held = graph[-1]
            parts = []
            for k, sizes in enumerate(held.sizes):
                graph.append(Inst(f"i{len(graph)}", "get-tuple-element", sizes, [held], {"index": k}))
                parts.append(graph[-1])
            for part in list(parts):
                if part.sizes and rng.random() < 0.5:
                    graph.append(Inst(f"i{len(graph)}", "negate", part.sizes, [part]))
                    parts.append(graph[-1])
        graph.append(tuple_of(parts, len(graph)))
    return graph


def random_pins(rng, inst):
    out = {}
    for index, sizes in inst.leaves():
        order = list(range(len(sizes)))
        rng.shuffle(order)
        out[index] = () if not sizes else None if rng.random() < 0.4 else tuple(order)
    return out


# ---- text ----

def array_text(sizes, layout):
    text = f"f32[{','.join(map(str, sizes))}]"
    return text + ("{" + ",".join(map(str, layout)) + "}" if layout else "")


def shape_text(inst, layouts):
    if inst.is_array():
        return array_text(inst.sizes, layouts[()])
    return "(" + ", ".join(array_text(s, layouts[(k,)]) for k, s in enumerate(inst.sizes)) + ")"


def listed(name, values):
    return f", {name}={{{','.join(map(str, values))}}}"


def line(inst):
    none = {index: None for index, _ in inst.leaves()}
    operands, attrs = ", ".join(o.name for o in inst.operands), ""
    if inst.opcode == "parameter":
        operands = str(inst.attrs["number"])
    elif inst.opcode == "reduce":
        operands, attrs = operands + ", zero", listed("dimensions", inst.attrs["dims"]) + ", to_apply=sum"
    elif inst.opcode == "dot":
        attrs = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    elif inst.opcode == "get-tuple-element":
        attrs = f", index={inst.attrs['index']}"
    elif "dims" in inst.attrs:
        attrs = listed("dimensions", inst.attrs["dims"])
    return f"{inst.name} = {shape_text(inst, none)} {inst.opcode}({operands}){attrs}"


def module_text(graph, params, result):
    parameters = [i for i in graph if i.opcode == "parameter"]
    entry = ", ".join(shape_text(i, p) for i, p in zip(parameters, params))
    out = [f"HloModule m, entry_computation_layout={{({entry})->{shape_text(graph[-1], result)}}}", "",
           "sum { a = f32[] parameter(0)", "  b = f32[] parameter(1)", "  ROOT c = f32[] add(a, b) }", "", "ENTRY e {",
           "  zero = f32[] constant(0)"]
    out += ["  " + ("ROOT " if i is graph[-1] else "") + line(i) for i in graph]
    return "\n".join(out + ["}"])


INSTRUCTION = re.compile(r"^\s*(ROOT )?%?([\w.-]+) = (\(.*?\)|\S+) ([\w-]+)\((.*?)\)")
LAYOUT = re.compile(r"f32\[([\d,]*)\](?:\{([\d,]*)\})?")


def layouts_in(text):
    return [tuple(int(x) for x in m.group(2).split(",")) if m.group(2) else () for m in LAYOUT.finditer(text)]


def read_result(text):
    """The entry layouts, and {name: (opcode, layouts, operands, is root)} of the entry computation."""
    header, _, rest = text.partition("\n")
    given, _, result = header[header.index("entry_computation_layout="):].partition("->")
    body = rest[rest.index("ENTRY"):]
    instructions = {}
    for text_line in body.split("\n")[1:]:
        m = INSTRUCTION.match(text_line)
        if m:
            operands = () if m.group(4) in ("parameter", "constant") else tuple(re.findall(r"%([\w.-]+)", m.group(5)))
            instructions[m.group(2)] = (m.group(4), layouts_in(m.group(3)), operands, bool(m.group(1)))
    return layouts_in(given), layouts_in(result), instructions


def expected(graph, params, result):
    done = assign(copied(graph), params, result)
    instructions = {}
    for inst in done.list:
        layouts = [inst.layout] if inst.is_array() else list(inst.layout)
        operands = tuple(o.name for o in inst.operands) + (("zero",) if inst.opcode == "reduce" else ())
        instructions[inst.name] = (inst.opcode, layouts, operands, inst is done.root)
    instructions["zero"] = ("constant", [()], (), False)
    return ([l for p in done.entry_params for l in p.values()], list(done.entry_result.values()), instructions)


def used_only(instructions):
    """Dead constants are not worth a line."""
    read = {o for _, _, operands, _ in instructions.values() for o in operands}
    return {n: v for n, v in instructions.items() if n in read or v[3] or v[0] != "constant"}


def run_batch(bin_dir, modules):
    with tempfile.NamedTemporaryFile("w", suffix=".hlo") as file:
        file.write("\n// -----\n".join(module_text(*m) for m in modules))
        file.flush()
        done = subprocess.run([os.path.join(bin_dir, "hlo-opt"), "--passes=layout-assignment", "--split-input-file", file.name],
                              capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        return None, done.stderr[:2000]
    return re.split(r"(?m)^(?=HloModule )", done.stdout)[1:], ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--random", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=3)
    args = parser.parse_args()

    def every_module():
        number = 0
        for graph in all_graphs():
            parameters = [i for i in graph if i.opcode == "parameter"]
            for choice in itertools.product(*[list(pins(i)) for i in parameters], list(pins(graph[-1]))):
                number += 1
                if number % args.every == 0:
                    yield graph, list(choice[:-1]), choice[-1]

    def random_modules():
        rng = random.Random(args.seed)
        for _ in range(args.random):
            graph = random_graph(rng)
            yield (graph, [random_pins(rng, i) for i in graph if i.opcode == "parameter"], random_pins(rng, graph[-1]))

    bad = compared = copies = 0
    for kind, source in (("exhaustive", every_module()), ("random", random_modules())):
        count = 0
        while True:
            modules = list(itertools.islice(source, BATCH))
            if not modules:
                break
            texts, problem = run_batch(args.bin, modules)
            if texts is None or len(texts) != len(modules):
                print(f"hlo-opt failed or gave {len(texts or [])} of {len(modules)} modules: {problem}")
                return 1
            for module, text in zip(modules, texts):
                count += 1
                want, got = expected(*module), read_result(text.strip("\n"))
                copies += sum(1 for v in got[2].values() if v[0] == "copy")
                if want[:2] == got[:2] and used_only(want[2]) == used_only(got[2]):
                    continue
                bad += 1
                if bad <= args.show:
                    print(module_text(*module), "\nhlokit:", text.strip("\n"), "\nsecond:", sep="\n")
                    print("entry", want[0], "->", want[1])
                    for name, value in want[2].items():
                        print(" ", name, value)
        compared += count
        print(f"{kind}: {count} modules")
    print(f"{compared - bad} of {compared} agree; {copies} copies in them")
    return 1 if bad or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
