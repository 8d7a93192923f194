"""A second implementation of layout assignment: slow and literal.

Written from the specification of the pass alone (section numbers in comments); shares nothing with src/layout.
It covers modules of one computation without aliases, channels, fusions or control flow, whose instructions are
those of the table MAY_CHANGE and KEEPS below. Shapes are arrays, or one level of tuple.

A graph is a list of Inst; assign(graph, params, result) takes the entry layouts (None = unset) and gives the
instructions of the module after the pass, and the entry layouts written back.
"""
from dataclasses import dataclass, field

# Section 7, the part that occurs here.
KEEPS = {"add", "multiply", "select", "negate", "convert", "concatenate", "reverse", "pad", "slice", "opt-barrier"}
MAY_CHANGE = {"parameter", "transpose", "reshape", "broadcast", "reduce", "copy", "dot", "iota", "tuple",
              "get-tuple-element", "constant"}


@dataclass
class Inst:
    name: str
    opcode: str
    sizes: object                                  # a tuple of sizes, or a list of such tuples for a tuple shape
    operands: list = field(default_factory=list)   # Inst
    attrs: dict = field(default_factory=dict)      # dims: the dimensions attribute; index; text: what is printed
    type: object = "f32"                           # element type, or a list of them
    layout: object = None                          # minor to major, or a list of them

    def is_array(self):
        return not isinstance(self.sizes, list)

    def leaves(self):
        """(index, sizes) of the array leaves in subshape order."""
        return [((), self.sizes)] if self.is_array() else [((k,), s) for k, s in enumerate(self.sizes)]


@dataclass
class Buffer:
    inst: Inst
    index: tuple
    id: int = -1

    def sizes(self):
        return self.inst.sizes if not self.index else self.inst.sizes[self.index[0]]

    def is_array(self):
        return self.inst.is_array() or bool(self.index)


class Constraint:
    """Section 2.1. kind: "B", "O" or "R"; layout: {index: layout or None} for O and R."""

    def __init__(self, kind, layout, mandatory, dfs, priority):
        self.kind, self.layout, self.mandatory, self.dfs, self.priority = kind, layout, mandatory, dfs, priority
        self.entries = 1


def default_layout(sizes):
    return tuple(range(len(sizes) - 1, -1, -1))


def product(values):
    out = 1
    for value in values:
        out *= value
    return out


# ---- section 6 ----

def common_factors(a, b):
    """Section 6.3, CommonFactors."""
    if list(a) == list(b):
        return [(i, i) for i in range(len(a) + 1)]
    out = []
    i = j = 0
    while i < len(a) and j < len(b) and a[i] == b[j]:
        out.append((i, j))
        i, j = i + 1, j + 1
    if product(a[i:]) != product(b[j:]):
        return [(0, 0), (len(a), len(b))]
    if product(a[i:]) == 0:
        return out + [(i, j), (len(a), len(b))]
    left = right = 1
    last = out[-1] if out else (-1, -1)
    while True:
        if left == right and (i > last[0] or j > last[1]) and (i, j) != last:
            out.append((i, j))
            last = (i, j)
        if i == len(a) and j == len(b):
            return out
        step_left = step_right = False
        if left < right:
            step_left = True
        elif right < left:
            step_right = True
        else:
            next_left = a[i] if i < len(a) else None
            next_right = b[j] if j < len(b) else None
            if next_right is None or (next_left is not None and next_left <= next_right):
                step_left = True
            if next_left is None or (next_right is not None and next_right <= next_left):
                step_right = True
        if step_left and i < len(a):
            left, i = left * a[i], i + 1
        if step_right and j < len(b):
            right, j = right * b[j], j + 1


def delete_dimensions(layout, dead):
    """Section 1.1: the layout without these dimensions, the others renumbered."""
    return tuple(d - sum(1 for x in dead if x < d) for d in layout if d not in dead)


def align(source, layout, target):
    """Section 6.3, AlignLayouts; None on failure."""
    if 1 in source or 1 in target:
        source_ones = [d for d, s in enumerate(source) if s == 1]
        target_ones = [d for d, s in enumerate(target) if s == 1]
        kept = [d for d, s in enumerate(target) if s != 1]
        inner = align([s for s in source if s != 1], delete_dimensions(layout, source_ones),
                      [s for s in target if s != 1])
        if inner is None:
            return None
        return tuple(kept[d] for d in inner) + tuple(sorted(target_ones, reverse=True))
    bounds = common_factors(source, target)
    groups = [(x, y) for x, y in zip(bounds, bounds[1:])]
    position = {d: p for p, d in enumerate(layout)}
    for (s, _), (e, _) in groups:
        for d in range(s, e - 1):
            if position[d + 1] != position[d] - 1:
                return None
    group_of = {}
    for n, ((s, _), (e, _)) in enumerate(groups):
        for d in range(s, e):
            group_of[d] = n
    out, done = [], set()
    for d in layout:
        n = group_of[d]
        if n in done:
            continue
        done.add(n)
        (_, s), (_, e) = groups[n]
        out += range(e - 1, s - 1, -1)
    return tuple(out)


def one_dimensional(sizes):
    return sum(1 for s in sizes if s != 1) == 1


def operand_from_output(inst, k, layout):
    """Section 6, output to operand."""
    operand = inst.operands[k]
    if inst.opcode == "transpose":
        return tuple(inst.attrs["dims"][d] for d in layout)
    if inst.opcode == "reshape":
        if one_dimensional(operand.sizes) and one_dimensional(inst.sizes):
            return None
        return align(inst.sizes, layout, operand.sizes)
    return None


def output_from_operand(inst, k, layout):
    """Section 6, operand to output."""
    operand = inst.operands[k]
    if inst.opcode == "transpose":
        inverse = {d: i for i, d in enumerate(inst.attrs["dims"])}
        return tuple(inverse[d] for d in layout)
    if inst.opcode == "reshape":
        if one_dimensional(operand.sizes) and one_dimensional(inst.sizes):
            return None
        return align(operand.sizes, layout, inst.sizes)
    return None


# ---- section 8 ----

def only_unit_dimensions(a, b):
    bounds = common_factors(a, b)
    same_a, same_b = set(), set()
    for (s, t), (e, f) in zip(bounds, bounds[1:]):
        if e - s == 1 and f - t == 1:
            same_a.add(s)
            same_b.add(t)
    return (all(s <= 1 for d, s in enumerate(a) if d not in same_a) and
            all(s <= 1 for d, s in enumerate(b) if d not in same_b))


def depth_first(inst):
    if inst.opcode == "reshape":
        source = inst.operands[0].sizes
        return len(source) == 1 or only_unit_dimensions(source, inst.sizes)
    return inst.opcode == "transpose"


def always_forward(inst):
    return inst.opcode in ("reduce", "transpose") or inst.opcode in KEEPS


def to_siblings(inst):
    return inst.opcode == "reduce" or inst.opcode in KEEPS


# ---- the pass ----

class Pass:
    def __init__(self, graph, params, result):
        self.list = list(graph)
        self.root = graph[-1]
        self.parameters = [i for i in graph if i.opcode == "parameter"]
        self.entry_params = [dict(p) for p in params]
        self.entry_result = dict(result)
        self.copies = {}
        self.names = {i.name for i in graph}

    # -- section 1.4 --
    def analyse(self):
        self.users = {id(i): [] for i in self.list}
        for inst in self.list:
            for operand in inst.operands:
                if inst not in self.users[id(operand)]:
                    self.users[id(operand)].append(inst)
        self.points_to = {}
        for inst in self.list:
            own = {}
            indices = [()] if inst.is_array() else [()] + [(k,) for k in range(len(inst.sizes))]
            for index in indices:
                if inst.opcode == "tuple" and index:
                    own[index] = self.points_to[id(inst.operands[index[0]])][()]
                elif inst.opcode == "get-tuple-element":
                    own[index] = self.points_to[id(inst.operands[0])][(inst.attrs["index"],)]
                elif inst.opcode == "opt-barrier":
                    own[index] = self.points_to[id(inst.operands[0])][index]
                else:
                    own[index] = Buffer(inst, index)
            self.points_to[id(inst)] = own
        # Section 1.5: ids.
        order, seen = [], set()

        def visit(inst):
            if id(inst) in seen:
                return
            seen.add(id(inst))
            for operand in inst.operands:
                visit(operand)
            order.append(inst)

        for inst in self.list:
            if not self.users[id(inst)] and inst is not self.root:
                visit(inst)
        visit(self.root)
        number = 0
        for inst in order:
            for index, buffer in self.points_to[id(inst)].items():
                if buffer.inst is inst and buffer.index == index:
                    buffer.id = number
                    number += 1

    def defines(self, inst, index):
        buffer = self.points_to[id(inst)][index]
        return buffer.inst is inst and buffer.index == index

    def forwarded(self, user, k):
        operand = {id(b) for b in self.points_to[id(user.operands[k])].values()}
        return any(id(b) in operand for b in self.points_to[id(user)].values())

    # -- section 2 --
    def set_buffer(self, buffer, layout, mandatory, dfs, priority):
        self.unconstrained.discard(buffer.id)
        assert buffer.is_array()
        assert sorted(layout) == list(range(len(buffer.sizes())))
        b = self.B.get(buffer.id)
        if b is None:
            b = self.B[buffer.id] = Constraint("B", layout, mandatory, dfs, priority)
            b.buffer = buffer
        else:
            if b.layout == layout:
                before = (b.mandatory, b.dfs, b.priority)
                b.mandatory, b.dfs = b.mandatory or mandatory, b.dfs or dfs
                b.priority = max(b.priority, priority)
                if before == (b.mandatory, b.dfs, b.priority):
                    return
            else:
                if not mandatory and (b.entries > 2 or not buffer.inst.is_array() or priority <= b.priority):
                    return
                b.layout, b.mandatory, b.dfs, b.priority = layout, mandatory, dfs, priority
                b.entries += 1
            if len(buffer.sizes()) <= 1:
                return
        self.announce(b)

    def set_operand(self, user, k, layout, mandatory, dfs, priority):
        """layout: of an array operand."""
        operand = user.operands[k]
        assert operand.is_array()
        if not operand.sizes:
            return
        o = self.O.get((id(user), k))
        if o is None:
            o = self.O[(id(user), k)] = Constraint("O", {(): layout}, mandatory, dfs, priority)
            o.user, o.k = user, k
        else:
            if o.layout == {(): layout} or not mandatory or o.priority > priority:
                return
            o.layout, o.mandatory, o.dfs, o.priority = {(): layout}, mandatory, dfs, priority
        self.announce(o)

    def set_instruction(self, inst, layouts, mandatory, dfs, priority):
        """Section 2.6, shape form; layouts by index, None = unset."""
        for index, _ in inst.leaves():
            if layouts.get(index) is not None:
                self.set_buffer(self.points_to[id(inst)][index], layouts[index], mandatory, dfs, priority)
        if inst.is_array() and inst.opcode in KEEPS and layouts.get(()) is not None:
            for k, operand in enumerate(inst.operands):
                if operand.is_array() and len(operand.sizes) == len(inst.sizes):
                    self.set_operand(inst, k, layouts[()], mandatory, dfs, priority)

    # -- section 5.1 --
    def announce(self, c):
        if c.dfs:
            self.announced.append(c)
            return
        at = len(self.announced)
        while at > 0 and self.announced[at - 1].priority < c.priority:
            at -= 1
        self.announced.insert(at, c)

    def propagate(self):
        while True:
            for c in self.announced:
                self.worklist.insert(0, c) if c.dfs else self.worklist.append(c)
            self.announced = []
            if not self.worklist:
                return
            c = self.worklist.pop(0)
            {"B": self.propagate_buffer, "O": self.propagate_operand, "R": self.propagate_result}[c.kind](c)

    # -- section 5.2 --
    def propagate_buffer(self, b):
        inst, layout = b.buffer.inst, b.layout
        if any(len(s) > 1 for _, s in inst.leaves()):
            for k, operand in enumerate(inst.operands):
                if all(len(s) <= 1 for _, s in operand.leaves()):
                    continue
                if inst.opcode in KEEPS:
                    if operand.is_array() and len(operand.sizes) == len(layout):
                        self.set_operand(inst, k, layout, True, True, self.cur)
                elif inst.opcode == "broadcast":
                    dead = [d for d in range(len(inst.sizes)) if d not in inst.attrs["dims"]]
                    self.set_operand(inst, k, delete_dimensions(layout, dead), True, False, self.cur)
                elif b.buffer.index == () and operand.is_array():
                    chosen = operand_from_output(inst, k, layout)
                    if chosen is not None:
                        self.set_operand(inst, k, chosen, False, depth_first(inst), self.cur)
        uses = []
        for alias in self.list:
            if alias.is_array() and self.points_to[id(alias)][()] is b.buffer:
                for user in self.users[id(alias)]:
                    uses += [(user, k) for k, o in enumerate(user.operands) if o is alias]
        for user, k in uses:
            if not self.forwarded(user, k):
                self.set_operand(user, k, layout, False, True, b.priority)

    # -- section 5.3 --
    def to_definitions(self, inst, layouts, priority):
        for index, _ in inst.leaves():
            layout = layouts.get(index)
            if layout is not None:
                self.set_buffer(self.points_to[id(inst)][index], layout, False, True, priority)

    def propagate_operand(self, o):
        user, operand = o.user, o.user.operands[o.k]
        if all(len(s) <= 1 for _, s in operand.leaves()):
            return
        self.to_definitions(operand, o.layout, o.priority)
        layout = o.layout[()]
        if user.opcode not in KEEPS and not user.is_array() and user.opcode != "reduce":
            return
        if self.forwarded(user, o.k):
            return
        if to_siblings(user):
            if user.opcode == "concatenate":
                d = user.attrs["dims"][0]
                if any(other is not operand and other.sizes[d] > operand.sizes[d] for other in user.operands):
                    return
            for j, other in enumerate(user.operands):
                if (other is not operand and other.is_array() and len(other.sizes) > 1 and
                        len(other.sizes) == len(operand.sizes)):
                    self.set_operand(user, j, layout, True, True, o.priority)
            for index, sizes in user.leaves():
                if len(sizes) > 1 and len(sizes) == len(operand.sizes) and self.defines(user, index):
                    self.set_buffer(self.points_to[id(user)][index], layout, True, True, o.priority)
            return
        for index, sizes in user.leaves():
            if len(sizes) > 1 and self.defines(user, index):
                chosen = output_from_operand(user, o.k, layout)
                if chosen is not None:
                    self.set_buffer(self.points_to[id(user)][index], chosen, always_forward(user),
                                    depth_first(user), o.priority)

    # -- section 5.4 --
    def propagate_result(self, r):
        self.to_definitions(self.root, r.layout, self.cur)

    # -- section 10.2 --
    def infer(self, inst, index):
        return self.B[self.points_to[id(inst)][index].id].layout

    # -- section 3 --
    @staticmethod
    def partly_set(layouts):
        return any(layout is not None for layout in layouts.values())

    def entry_partly_set(self):
        return any(self.partly_set(p) for p in self.entry_params) or self.partly_set(self.entry_result)

    def round(self):
        self.B, self.O, self.announced, self.worklist = {}, {}, [], []
        self.unconstrained = {self.points_to[id(i)][index].id for i in self.list for index, _ in i.leaves()}
        for inst in self.list:
            if inst.opcode == "parameter" and (self.entry_partly_set() or self.params_set):
                layouts = self.param_layouts[self.parameters.index(inst)]
                if self.partly_set(layouts):
                    self.set_instruction(inst, layouts, True, True, self.cur)
        if (self.entry_partly_set() and self.partly_set(self.entry_result)) or self.cur > 0:
            self.announce(self.R)
        self.propagate()
        buffers = {b.id: b for own in self.points_to.values() for b in own.values()}
        while self.unconstrained:
            b = buffers[min(self.unconstrained)]
            self.set_buffer(b, default_layout(b.sizes()), False, True, self.cur)
            self.propagate()
        if self.cur == 0 and self.R.priority < self.cur + 2:
            # Adopt (section 3.4): every instruction carries layouts, since the reader filled them in.
            self.R.layout.update({index: self.infer(self.root, index) for index, _ in self.root.leaves()})
            for parameter, layouts in zip(self.parameters, self.param_layouts):
                layouts.update({index: self.infer(parameter, index) for index, _ in parameter.leaves()})
            self.R.priority, self.params_set = self.cur + 2, True
        if self.cur == 0:
            self.entry_params = [dict(p) for p in self.param_layouts]
            self.entry_result = dict(self.R.layout)

    def run(self):
        self.analyse()
        self.given_params = [dict(p) for p in self.entry_params]
        given = self.entry_partly_set()
        if given:
            self.param_layouts = [dict(p) for p in self.entry_params]
            self.R = Constraint("R", dict(self.entry_result), True, True, 3)
        else:
            self.param_layouts = [{i: default_layout(s) for i, s in p.leaves()} for p in self.parameters]
            self.R = Constraint("R", {i: default_layout(s) for i, s in self.root.leaves()}, True, True, -2)
        self.params_set = given
        for self.cur in range(2):
            self.round()
        self.assign()
        return self.list, self.entry_params, self.entry_result

    # -- section 10 --
    def unique(self, root):
        name, n = root, 0
        while name in self.names:
            n += 1
            name = f"{root}.{n}"
        self.names.add(name)
        return name

    def add_copy(self, inst, layout):
        """Section 10.4; layout: of an array, or a list for a tuple."""
        if inst.is_array():
            copy = Inst(self.unique("copy"), "copy", inst.sizes, [inst], {}, inst.type, layout)
            self.list.append(copy)
            return copy
        parts = []
        for k, sizes in enumerate(inst.sizes):
            part = Inst(self.unique("get-tuple-element"), "get-tuple-element", sizes, [inst], {"index": k},
                        inst.type[k], inst.layout[k])
            self.list.append(part)
            parts.append(part if inst.layout[k] == layout[k] else self.add_copy(part, layout[k]))
        out = Inst(self.unique("tuple"), "tuple", list(inst.sizes), parts, {}, list(inst.type), list(layout))
        self.list.append(out)
        return out

    def assign(self):
        order, seen = [], set()

        def visit(inst):
            if id(inst) in seen:
                return
            seen.add(id(inst))
            for operand in inst.operands:
                visit(operand)
            order.append(inst)

        for inst in self.list:
            if not self.users[id(inst)]:
                visit(inst)
        for inst in order:
            layouts = [self.infer(inst, index) for index, _ in inst.leaves()]
            inst.layout = layouts[0] if inst.is_array() else layouts
            for k, operand in enumerate(list(inst.operands)):
                o = self.O.get((id(inst), k))
                if o is not None and operand.layout != o.layout[()]:
                    inst.operands[k] = self.add_copy(operand, o.layout[()])
        # Section 10.5.
        wanted = [self.R.layout[index] for index, _ in self.root.leaves()]
        if all(layout is not None for layout in wanted):
            wanted = wanted[0] if self.root.is_array() else wanted
            if wanted != self.root.layout:
                self.root = self.add_copy(self.root, wanted)
        # Section 10.6.
        for parameter, layouts in zip(self.parameters, self.entry_params):
            now = [parameter.layout] if parameter.is_array() else parameter.layout
            if any(layout is None for layout in layouts.values()):
                layouts.update({index: l for (index, _), l in zip(parameter.leaves(), now)})
        if any(layout is None for layout in self.entry_result.values()):
            now = [self.root.layout] if self.root.is_array() else self.root.layout
            self.entry_result.update({index: l for (index, _), l in zip(self.root.leaves(), now)})


def assign(graph, params, result):
    done = Pass(graph, params, result)
    done.run()
    return done
