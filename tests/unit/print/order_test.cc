// Do the orders of computations and instructions follow the rules of hlo-text.md sections 11.3 and
// 11.4? Small recorded cases, and random graphs against a literal recursive second implementation.
#include "src/print/order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "hlokit/printer.h"
#include "tests/unit/print/module_builder.h"

namespace hlokit {
namespace {

std::string Names(const Module& module, const std::vector<InstId>& ids) {
  std::string out;
  for (InstId id : ids) out += std::string(module.name(id)) + " ";
  return out;
}
std::string Names(const Module& module, const std::vector<CompId>& ids) {
  std::string out;
  for (CompId id : ids) out += std::string(module.name(id)) + " ";
  return out;
}

TEST(InstructionOrder, OperandsFirstDeadCodeKept) {  // A21
  ModuleBuilder m;
  const CompId e = m.Computation("main");
  const InstId b = m.Parameter(e, "b", m.F32(), 1);
  const InstId a = m.Parameter(e, "a", m.F32(), 0);
  const InstId d = m.Add(e, "d", Opcode::kNegate, m.F32(), {a});
  const InstId c = m.Add(e, "c", Opcode::kAbs, m.F32(), {b});
  m.Add(e, "dead", Opcode::kCos, m.F32(), {c});
  m.Add(e, "r", Opcode::kSubtract, m.F32(), {c, d});
  EXPECT_EQ(Names(m.module, InstructionPostOrder(m.module, e)), "b c dead a d r ");
}

TEST(InstructionOrder, ControlEdges) {  // F22, H01
  ModuleBuilder m;
  const CompId e = m.Computation("main");
  const InstId a = m.Parameter(e, "a", m.F32(), 0);
  const InstId x = m.Add(e, "x", Opcode::kNegate, m.F32(), {a});
  const InstId y = m.Add(e, "y", Opcode::kAbs, m.F32(), {a});
  const InstId z = m.Add(e, "z", Opcode::kCos, m.F32(), {a});
  const InstId r = m.Add(e, "r", Opcode::kAdd, m.F32(), {x, x}, {m.After({y, z})});
  EXPECT_EQ(Names(m.module, InstructionPostOrder(m.module, e)), "a y z x r ");
  const InstId k = m.Add(e, "k", Opcode::kAdd, m.F32(), {y, z});
  m.Add(e, "t", Opcode::kTuple, m.Tuple({m.F32(), m.F32()}), {r, k});
  EXPECT_EQ(Names(m.module, InstructionPostOrder(m.module, e)), "a z y x r k t ");
}

TEST(InstructionOrder, DeadMarksAreLeftOut) {
  ModuleBuilder m;
  const CompId e = m.Computation("main");
  const InstId a = m.Parameter(e, "a", m.F32(), 0);
  const InstId x = m.Add(e, "x", Opcode::kNegate, m.F32(), {a});
  m.Add(e, "r", Opcode::kNegate, m.F32(), {a});
  m.module.MarkDead(x);
  EXPECT_EQ(Names(m.module, InstructionPostOrder(m.module, e)), "a r ");
}

/// Section 11.4 word for word, with recursion.
std::vector<InstId> Slow(const Module& module, CompId computation) {
  std::vector<InstId> order;
  std::set<InstId> seen, used;
  for (InstId id : module.computation(computation).instructions) {
    for (InstId operand : module.operands(id)) used.insert(operand);
  }
  const std::function<void(InstId)> visit = [&](InstId id) {
    if (!seen.insert(id).second) return;
    const std::span<const InstId> predecessors = module.control_predecessors(id);
    for (size_t i = predecessors.size(); i-- > 0;) visit(predecessors[i]);
    for (InstId operand : module.operands(id)) visit(operand);
    order.push_back(id);
  };
  for (InstId id : module.computation(computation).instructions) {
    if (used.count(id) == 0) visit(id);
  }
  return order;
}

TEST(InstructionOrder, RandomGraphs) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    ModuleBuilder m;
    const CompId first = m.Computation("first");
    const CompId second = m.Computation("second");
    std::vector<InstId> made[2];
    const int size = 1 + static_cast<int>(random() % 30);
    for (int i = 0; i < size; ++i) {  // interleaved, so that ids of a computation have gaps
      const size_t which = random() % 2;
      std::vector<InstId>& pool = made[which];
      std::vector<InstId> operands, after;
      for (unsigned n = random() % 4; n > 0 && !pool.empty(); --n) {
        operands.push_back(pool[random() % pool.size()]);
      }
      for (unsigned n = random() % 3; n > 0 && !pool.empty(); --n) {
        after.push_back(pool[random() % pool.size()]);
      }
      std::vector<Attr> attributes;
      if (!after.empty()) attributes.push_back(m.After(after));
      pool.push_back(m.Add(which == 0 ? first : second, fmt::format("i{}", i), Opcode::kTuple,
                           m.F32(), operands, attributes));
    }
    InstructionOrder shared(m.module);
    for (CompId id : {first, second}) {
      ASSERT_EQ(Names(m.module, InstructionPostOrder(m.module, id)),
                Names(m.module, Slow(m.module, id)));
      ASSERT_EQ(Names(m.module, shared.PostOrder(id)), Names(m.module, Slow(m.module, id)));
    }
  }
}

TEST(InstructionOrder, DeepChainsNeedNoStack) {
  ModuleBuilder m;
  const CompId e = m.Computation("main");
  InstId last = m.Parameter(e, "p", m.F32(), 0);
  for (int i = 0; i < 300000; ++i) last = m.Add(e, "n", Opcode::kNegate, m.F32(), {last});
  EXPECT_EQ(InstructionPostOrder(m.module, e).size(), 300001u);
}

struct Caller : ModuleBuilder {
  CompId Make(std::string_view name) {
    const CompId id = Computation(name);
    Parameter(id, "p", F32(), 0);
    return id;
  }
  void Call(CompId from, Opcode opcode, std::vector<CompId> to) {
    Add(from, "c", opcode, F32(), {module.computation(from).parameters[0]}, {Calls(to)});
  }
};

TEST(ComputationOrder, CalleesFirstUnreferencedStay) {  // A19
  Caller m;
  m.Make("unused");
  const CompId inner = m.Make("inner"), outer = m.Make("outer"), e = m.Make("e");
  m.Call(outer, Opcode::kCall, {inner});
  m.Call(e, Opcode::kCall, {outer});
  m.Call(e, Opcode::kCall, {inner});
  EXPECT_EQ(Names(m.module, ComputationPostOrder(m.module)), "unused inner outer e ");
}

TEST(ComputationOrder, RepeatedBranchesArePushedFromTheBack) {  // E26
  Caller m;
  const CompId t = m.Make("t"), f = m.Make("f"), e = m.Make("e");
  m.Call(e, Opcode::kConditional, {t, f, t});
  EXPECT_EQ(Names(m.module, ComputationPostOrder(m.module)), "f t e ");
}

TEST(ComputationOrder, BodyThatCallsTheConditionComesFirst) {  // H61
  Caller m;
  const CompId c = m.Make("c"), b = m.Make("b"), e = m.Make("e");
  m.Call(b, Opcode::kCall, {c});
  m.Call(e, Opcode::kWhile, {b, c});
  EXPECT_EQ(Names(m.module, ComputationPostOrder(m.module)), "b c e ");
  EXPECT_EQ(Names(m.module, ComputationTopologicalOrder(m.module)), "c b e ");
}

TEST(ComputationOrder, CirclesArePrintedOnce) {
  Caller m;
  const CompId a = m.Make("a"), b = m.Make("b");
  m.Call(a, Opcode::kCall, {b});
  m.Call(b, Opcode::kCall, {a});
  EXPECT_EQ(Names(m.module, ComputationPostOrder(m.module)), "b a ");
}

/// Section 11.3 word for word: each root is walked in full, then filtered.
std::vector<CompId> Slow(const Module& module) {
  std::set<CompId> called, emitted;
  for (CompId id : module.computation_order()) {
    for (InstId i : module.computation(id).instructions) {
      for (CompId callee : module.called_computations(i)) called.insert(callee);
    }
  }
  std::vector<CompId> order;
  for (CompId root : module.computation_order()) {
    if (called.count(root) != 0) continue;
    std::set<CompId> pushed = {root};
    std::vector<std::pair<CompId, size_t>> stack = {{root, 0}};
    while (!stack.empty()) {
      auto& [top, next] = stack.back();
      const std::vector<InstId>& instructions = module.computation(top).instructions;
      if (next == instructions.size()) {
        if (emitted.insert(top).second) order.push_back(top);
        stack.pop_back();
        continue;
      }
      const std::span<const CompId> calls = module.called_computations(instructions[next++]);
      for (size_t i = calls.size(); i-- > 0;) {
        if (pushed.insert(calls[i]).second) stack.push_back({calls[i], 0});
      }
    }
  }
  return order;
}

TEST(ComputationOrder, RandomCallGraphs) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    Caller m;
    std::vector<CompId> made;
    for (unsigned i = 0; i < 2 + random() % 8; ++i) {
      made.push_back(m.Make(fmt::format("c{}", i)));
      for (unsigned calls = random() % 3; calls > 0 && i > 0; --calls) {
        std::vector<CompId> to;
        for (unsigned n = 1 + random() % 3; n > 0; --n) to.push_back(made[random() % i]);
        m.Call(made.back(), Opcode::kConditional, to);
      }
    }
    std::shuffle(m.module.mutable_computation_order().begin(),
                 m.module.mutable_computation_order().end(), random);
    ASSERT_EQ(Names(m.module, ComputationPostOrder(m.module)), Names(m.module, Slow(m.module)));
    // In a topological order nobody stands before what it calls.
    std::set<CompId> done;
    for (CompId id : ComputationTopologicalOrder(m.module)) {
      for (InstId i : m.module.computation(id).instructions) {
        for (CompId callee : m.module.called_computations(i)) ASSERT_EQ(done.count(callee), 1u);
      }
      done.insert(id);
    }
    ASSERT_EQ(done.size(), made.size());
  }
}

}  // namespace
}  // namespace hlokit
