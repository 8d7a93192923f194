// Is a whole module written as the reference writes it? Expected texts are the recorded results of
// hlo-text-cases.md (case numbers are given) or follow the rules of hlo-text.md.
#include "hlokit/printer.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "src/print/module_printer.h"
#include "tests/unit/print/module_builder.h"

namespace hlokit {
namespace {

using K = AttrKind;
using O = Opcode;
using E = ElementType;

/// A reducer "add_f" as in many of the cases.
CompId AddReducer(ModuleBuilder& m, std::string_view a, std::string_view b, std::string_view s) {
  const CompId add_f = m.Computation("add_f");
  const InstId lhs = m.Parameter(add_f, a, m.F32(), 0);
  const InstId rhs = m.Parameter(add_f, b, m.F32(), 1);
  m.Add(add_f, s, O::kAdd, m.F32(), {lhs, rhs});
  return add_f;
}

/// One instruction over parameters "p" and "q", printed as a line.
struct Line : ModuleBuilder {
  CompId main = Computation("main");
  InstId p = Parameter(main, "p", F32({4}), 0);
  InstId q = Parameter(main, "q", F32({4}), 1);
  PrintOptions options;

  std::string Print(O opcode, std::vector<Attr> attributes, std::vector<InstId> operands) {
    const InstId id = Add(main, "r", opcode, F32({4}), operands, attributes);
    return PrintInstruction(module, id, options);
  }
  std::string Print(O opcode, std::vector<Attr> attributes) {
    return Print(opcode, attributes, {p});
  }
};

TEST(PrintModule, Minimal) {  // A01
  ModuleBuilder m;
  const CompId e = m.Computation("main");
  const InstId p = m.Parameter(e, "p", m.F32({2, 3}), 0);
  m.Add(e, "n", O::kNegate, m.F32({2, 3}), {p});
  m.SetEntryLayout();
  EXPECT_EQ(PrintModule(m.module),
            "HloModule t, entry_computation_layout={(f32[2,3]{1,0})->f32[2,3]{1,0}}\n"
            "\n"
            "ENTRY %main (p: f32[2,3]) -> f32[2,3] {\n"
            "  %p = f32[2,3]{1,0} parameter(0)\n"
            "  ROOT %n = f32[2,3]{1,0} negate(%p)\n"
            "}\n"
            "\n");
}

TEST(PrintModule, HeaderAttributesInOrder) {  // A02, A28
  ModuleBuilder m("jit_f.7");
  const CompId e = m.Computation("e");
  const InstId x = m.Parameter(e, "x", m.F32({4}), 0);
  m.Add(e, "y", O::kAbs, m.F32({4}), {x});
  m.SetEntryLayout();
  ModuleConfig& config = m.module.config();
  config.is_scheduled = true;
  config.alias_passthrough_params = true;
  config.allow_spmd_sharding_propagation_to_parameters = {true};
  config.allow_spmd_sharding_propagation_to_output = {true, false};
  config.replica_count = 2;
  config.num_partitions = 4;
  config.frontend_attributes = "{a=\"1\",b=\"2\"}";
  std::string text = PrintModule(m.module);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "HloModule jit_f.7, is_scheduled=true, alias_passthrough_params=true, "
            "entry_computation_layout={(f32[4]{0})->f32[4]{0}}, "
            "allow_spmd_sharding_propagation_to_parameters={true}, "
            "allow_spmd_sharding_propagation_to_output={true,false}, replica_count=2, "
            "num_partitions=4, frontend_attributes={a=\"1\",b=\"2\"}");
  config = {.name = "m"};
  config.input_output_alias = {{{1}, 0, {}, AliasKind::kMust}, {{0}, 2, {1}, AliasKind::kMay}};
  config.buffer_donors = {{2, {0}}, {1, {}}, {2, {}}};
  text = PrintModule(m.module);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "HloModule m, input_output_alias={ {0}: (2, {1}, may-alias), {1}: (0, {}, must-alias) "
            "}, buffer_donor={ (1, {}), (2, {}), (2, {0}) }");
}

TEST(PrintModule, EntryLayoutCountsParameters) {  // E14
  ModuleBuilder m;
  const CompId e = m.Computation("e");
  for (int i = 0; i < 7; ++i)
    m.Parameter(e, std::string(1, static_cast<char>('a' + i)), m.F32({2}), i);
  m.SetEntryLayout();
  const std::string text = PrintModule(m.module);
  EXPECT_NE(text.find("f32[2]{0}, f32[2]{0}, /*index=5*/f32[2]{0}, f32[2]{0})->"),
            std::string::npos);
  EXPECT_NE(text.find("(a: f32[2], b: f32[2], c: f32[2], d: f32[2], e: f32[2], f: f32[2], g: "
                      "f32[2]) -> f32[2] {"),
            std::string::npos);
}

TEST(PrintModule, StackFrames) {  // A32
  ModuleBuilder m("m");
  const CompId e = m.Computation("e");
  const InstId p = m.Parameter(e, "p", m.F32(), 0);
  m.Add(e, "n", O::kNegate, m.F32(), {p},
        {m.Text(K::kMetadata, "{op_name=\"neg\" stack_frame_id=2}")});
  m.SetEntryLayout();
  m.module.config().stack_frame_index = {{"/src/a.py"},
                                         {"outer", "inner"},
                                         {{1, 1, 10, 10, 2, 9}, {1, 2, 20, 21, 4, 8}},
                                         {{1, 0}, {2, 1}}};
  const std::string body =
      "ENTRY %e (p: f32[]) -> f32[] {\n"
      "  %p = f32[] parameter(0)\n"
      "  ROOT %n = f32[] negate(%p)";
  EXPECT_EQ(PrintModule(m.module),
            "HloModule m, entry_computation_layout={(f32[])->f32[]}\n\n"
            "FileNames\n1 \"/src/a.py\"\n\n"
            "FunctionNames\n1 \"outer\"\n2 \"inner\"\n\n"
            "FileLocations\n"
            "1 {file_name_id=1 function_name_id=1 line=10 end_line=10 column=2 end_column=9}\n"
            "2 {file_name_id=1 function_name_id=2 line=20 end_line=21 column=4 end_column=8}\n\n"
            "StackFrames\n"
            "1 {file_location_id=1 parent_frame_id=1}\n"
            "2 {file_location_id=2 parent_frame_id=2}\n\n\n" +
                body + ", metadata={op_name=\"neg\" stack_frame_id=2}\n}\n\n");
  EXPECT_EQ(PrintModule(m.module, {.metadata = false}),
            "HloModule m, entry_computation_layout={(f32[])->f32[]}\n\n" + body + "\n}\n\n");
}

TEST(PrintModule, ScheduleAndFusionBodies) {  // A22, H22, A27
  ModuleBuilder m("m");
  const CompId fused = m.Computation("fused");
  const InstId b = m.Parameter(fused, "b", m.F32({4}), 1);
  const InstId a = m.Parameter(fused, "a", m.F32({4}), 0);
  m.Add(fused, "n", O::kAdd, m.F32({4}), {a, b});
  const CompId e = m.Computation("e");
  const InstId y = m.Parameter(e, "y", m.F32({4}), 1);
  const InstId x = m.Parameter(e, "x", m.F32({4}), 0);
  m.Add(e, "f", O::kFusion, m.F32({4}), {x, y},
        {m.Int(K::kFusionKind, static_cast<int>(FusionKind::kLoop)), m.Calls({fused})});
  m.module.config().is_scheduled = true;
  m.module.computation(fused).execution_thread = m.module.text().Append("sparse");
  EXPECT_EQ(PrintModule(m.module),
            "HloModule m, is_scheduled=true\n\n"
            "%fused (a: f32[4], b: f32[4]) -> f32[4] {\n"
            "  %a = f32[4]{0} parameter(0)\n"
            "  %b = f32[4]{0} parameter(1)\n"
            "  ROOT %n = f32[4]{0} add(%a, %b)\n"
            "}, execution_thread=\"sparse\"\n\n"
            "ENTRY %e (x: f32[4], y: f32[4]) -> f32[4] {\n"
            "  %y = f32[4]{0} parameter(1)\n"
            "  %x = f32[4]{0} parameter(0)\n"
            "  ROOT %f = f32[4]{0} fusion(%x, %y), kind=kLoop, calls=%fused\n"
            "}\n\n");
}

TEST(PrintModule, ShortOptions) {  // D20
  ModuleBuilder m;
  const CompId e = m.Computation("main");
  const InstId a = m.Parameter(e, "a", m.F32({4, 2}), 0);
  const InstId b =
      m.Constant(e, "b", m.Literal<float>(m.F32({12}), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  m.Add(e, "r", O::kTranspose, m.F32({2, 4}), {a},
        {m.Ints(K::kDimensions, {1, 0}), m.After({b}), m.Text(K::kMetadata, "{op_name=\"x\"}")});
  m.SetEntryLayout();
  EXPECT_EQ(PrintModule(m.module, PrintOptions::Short()),
            "HloModule t, entry_computation_layout={(f32[4,2]{1,0})->f32[2,4]{1,0}}\n\n"
            "ENTRY main {\n"
            "  b = f32[12]{0} constant({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})\n"
            "  a = f32[4,2]{1,0} parameter(0)\n"
            "  ROOT r = f32[2,4]{1,0} transpose(a), dimensions={1,0}\n"
            "}\n\n");
}

/// The module of D21 and D22.
ModuleBuilder ReduceModule() {
  ModuleBuilder m;
  const CompId add_f = AddReducer(m, "a.1", "b", "s");
  const CompId e = m.Computation("main");
  const InstId a = m.Parameter(e, "a", m.F32({4}), 0);
  const InstId z = m.Constant(e, "z", m.Literal<float>(m.F32(), {0.5}));
  m.Add(e, "r", O::kReduce, m.F32(), {a, z},
        {m.Ints(K::kDimensions, {0}), m.Calls({add_f}), m.Text(K::kBackendConfig, "q")});
  m.SetEntryLayout();
  return m;
}

TEST(PrintModule, CanonicalOptions) {  // D21
  EXPECT_EQ(PrintModule(ReduceModule().module, PrintOptions::Canonical()),
            "HloModule t, entry_computation_layout={(f32[4]{0})->f32[]}\n\n"
            "add_f {\n"
            "  tmp_0 = f32[] parameter(0)\n"
            "  tmp_1 = f32[] parameter(1)\n"
            "  ROOT tmp_2 = f32[] add(f32[] tmp_0, f32[] tmp_1)\n"
            "}\n\n"
            "ENTRY main {\n"
            "  tmp_0 = f32[4]{0} parameter(0)\n"
            "  tmp_1 = f32[] constant(0.5)\n"
            "  ROOT tmp_2 = f32[] reduce(f32[4]{0} tmp_0, f32[] tmp_1), dimensions={0}, to_apply=\n"
            "  {\n"
            "    tmp_0 = f32[] parameter(0)\n"
            "    tmp_1 = f32[] parameter(1)\n"
            "    ROOT tmp_2 = f32[] add(f32[] tmp_0, f32[] tmp_1)\n"
            "  }\n"
            "}\n\n");
}

TEST(PrintModule, FingerprintOptions) {  // D22
  EXPECT_EQ(PrintModule(ReduceModule().module, PrintOptions::Fingerprint()),
            "HloModule , entry_computation_layout={(f32[4]{0})->f32[]}\n\n"
            "{\n"
            "  tmp_0 = f32[] parameter(0)\n"
            "  tmp_1 = f32[] parameter(1)\n"
            "  ROOT tmp_2 = f32[] add(f32[] tmp_0, f32[] tmp_1)\n"
            "}\n\n"
            "ENTRY {\n"
            "  tmp_0 = f32[4]{0} parameter(0)\n"
            "  tmp_1 = f32[] constant({...})\n"
            "  ROOT tmp_2 = f32[] reduce(f32[4]{0} tmp_0, f32[] tmp_1), dimensions={0}, to_apply=\n"
            "  {\n"
            "    tmp_0 = f32[] parameter(0)\n"
            "    tmp_1 = f32[] parameter(1)\n"
            "    ROOT tmp_2 = f32[] add(f32[] tmp_0, f32[] tmp_1)\n"
            "  }\n"
            "}\n\n");
}

TEST(PrintModule, BodiesInPlaceDoNotExplode) {
  ModuleBuilder m;
  CompId callee = AddReducer(m, "a", "b", "s");
  for (int i = 0; i < 60; ++i) {  // each computation calls the one before twice
    const CompId c = m.Computation("c");
    const InstId p = m.Parameter(c, "p", m.F32(), 0);
    const InstId one = m.Add(c, "x", O::kCall, m.F32(), {p, p}, {m.Calls({callee})});
    m.Add(c, "y", O::kCall, m.F32(), {one, one}, {m.Calls({callee})});
    callee = c;
  }
  EXPECT_LT(PrintModule(m.module, PrintOptions::Canonical()).size(), size_t{1} << 30);
}

TEST(PrintModule, CompactTupleAccess) {  // D10
  ModuleBuilder m;
  const CompId e = m.Computation("main");
  const ShapeId inner = m.Tuple({m.S32(), m.F32({4})});
  const InstId a = m.Parameter(e, "a", m.Tuple({m.F32({4}), inner}), 0);
  const InstId a0 = m.Add(e, "a_0", O::kGetTupleElement, m.F32({4}), {a}, {m.Int(K::kIndex, 0)});
  const InstId a1 = m.Add(e, "a_1", O::kGetTupleElement, inner, {a}, {m.Int(K::kIndex, 1)});
  const InstId a11 =
      m.Add(e, "a_1_1", O::kGetTupleElement, m.F32({4}), {a1}, {m.Int(K::kIndex, 1)});
  m.Add(e, "r", O::kAdd, m.F32({4}), {a0, a11});
  EXPECT_EQ(PrintModule(m.module, {.compact_gte = true}),
            "HloModule t\n\n"
            "ENTRY %main (a: (f32[4], (s32[], f32[4]))) -> f32[4] {\n"
            "  %a = (f32[4]{0}, (s32[], f32[4]{0})) parameter(0)\n"
            "  ROOT %r = f32[4]{0} add(%a#0, %a#1#1)\n"
            "}\n\n");
}

TEST(PrintModule, AsyncSugar) {  // E44, E45
  ModuleBuilder m;
  const CompId wrapped = m.Computation("async_wrapped");
  const InstId w = m.Parameter(wrapped, "async_param", m.F32({4}), 0);
  m.Add(wrapped, "custom-call", O::kCustomCall, m.F32({2}), {w},
        {m.Text(K::kCustomCallTarget, "k")});
  m.module.computation(wrapped).execution_thread = m.module.text().Append("side");
  const CompId e = m.Computation("main");
  const InstId a = m.Parameter(e, "a", m.F32({4}), 0);
  const ShapeId shape = m.Tuple({m.Tuple({m.F32({4})}), m.F32({2}), m.S32()});
  const InstId s = m.Add(e, "s", O::kAsyncStart, shape, {a},
                         {m.Text(K::kAsyncExecutionThread, "side"), m.Calls({wrapped})});
  const InstId u = m.Add(e, "u", O::kAsyncUpdate, shape, {s});
  m.Add(e, "d", O::kAsyncDone, m.F32({2}), {u});
  const std::string head = "HloModule t\n\n";
  const std::string type = "((f32[4]{0}), f32[2]{0}, s32[])";
  EXPECT_EQ(PrintModule(m.module), head +
                                       "%async_wrapped (async_param: f32[4]) -> f32[2] {\n"
                                       "  %async_param = f32[4]{0} parameter(0)\n"
                                       "  ROOT %custom-call = f32[2]{0} custom-call(%async_param), "
                                       "custom_call_target=\"k\"\n"
                                       "}, execution_thread=\"side\"\n\n"
                                       "ENTRY %main (a: f32[4]) -> f32[2] {\n"
                                       "  %a = f32[4]{0} parameter(0)\n"
                                       "  %s = " +
                                       type +
                                       " async-start(%a), async_execution_thread=\"side\", "
                                       "calls=%async_wrapped\n"
                                       "  %u = " +
                                       type +
                                       " async-update(%s)\n"
                                       "  ROOT %d = f32[2]{0} async-done(%u)\n"
                                       "}\n\n");
  EXPECT_EQ(PrintModule(m.module, {.async_sugar = true}),
            head +
                "ENTRY %main (a: f32[4]) -> f32[2] {\n"
                "  %a = f32[4]{0} parameter(0)\n"
                "  %s = " +
                type +
                " custom-call-start(%a), async_execution_thread=\"side\", "
                "custom_call_target=\"k\"\n"
                "  %u = " +
                type +
                " custom-call-update(%s)\n"
                "  ROOT %d = f32[2]{0} custom-call-done(%u)\n"
                "}\n\n");
}

TEST(PrintInstruction, OperandsAndTheirTypes) {  // D19, section 11.5
  Line m;
  EXPECT_EQ(m.Print(O::kTuple, {}, {m.p, m.q, m.p, m.q, m.p, m.q, m.p}),
            "%r = f32[4]{0} tuple(%p, %q, %p, %q, %p, /*index=5*/%q, %p)");
  m.options.operand_shapes = true;
  m.options.index_comments = false;
  EXPECT_EQ(m.Print(O::kAdd, {}, {m.p, m.q}), "%r = f32[4]{0} add(f32[4]{0} %p, f32[4]{0} %q)");
  m.options.layouts = false;
  EXPECT_EQ(m.Print(O::kAdd, {}, {m.p, m.q}), "%r = f32[4] add(f32[4] %p, f32[4] %q)");
}

TEST(PrintInstruction, Constants) {  // C16, C17, C21
  Line m;
  const LiteralId large = m.Literal<int32_t>(m.S32({11}), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const InstId c = m.Constant(m.main, "c", large);
  EXPECT_EQ(PrintInstruction(m.module, c), "%c = s32[11]{0} constant({...})");
  EXPECT_EQ(PrintInstruction(m.module, c, {.large_constants = true}),
            "%c = s32[11]{0} constant({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})");
  const LiteralId member = m.Literal<int32_t>(m.S32(), {1});
  const InstId t = m.Constant(
      m.main, "t", m.module.AddLiteral({.shape = m.Tuple({m.S32()}), .elements = {member}}));
  EXPECT_EQ(PrintInstruction(m.module, t), "%t = (s32[]) constant({...})");
  EXPECT_EQ(PrintInstruction(m.module, t, {.large_constants = true}),
            "%t = (s32[]) constant(( 1 ))");
}

TEST(PrintInstruction, SliceAndPad) {  // E07, E09
  Line m;
  EXPECT_EQ(m.Print(O::kSlice, {m.Ints(K::kSlice, {1, 3, 1, 0, 6, 1})}),
            "%r = f32[4]{0} slice(%p), slice={[1:3], [0:6]}");
  EXPECT_EQ(m.Print(O::kSlice, {m.Ints(K::kSlice, {0, 4, 2, 0, 6, 1})}),
            "%r = f32[4]{0} slice(%p), slice={[0:4:2], [0:6:1]}");
  EXPECT_EQ(m.Print(O::kPad, {m.Ints(K::kPadding, {1, 0, 0, 0, 1, 0})}),
            "%r = f32[4]{0} pad(%p), padding=1_0x0_1");
  EXPECT_EQ(m.Print(O::kPad, {m.Ints(K::kPadding, {1, 1, 1, -1, -1, 0})}),
            "%r = f32[4]{0} pad(%p), padding=1_1_1x-1_-1_0");
}

TEST(PrintInstruction, Windows) {  // E15, E16, P81
  Line m;
  EXPECT_EQ(m.Print(O::kConvolution,
                    {m.Ints(K::kOperandPrecision, {2, 2}), m.Int(K::kFeatureGroupCount, 2),
                     m.Text(K::kDimLabels, "b01f_01io->b01f"),
                     m.Ints(K::kWindow, {3, 1, 1, 1, 1, 1, 0, 3, 2, 1, 1, 1, 1, 1})},
                    {m.p, m.q}),
            "%r = f32[4]{0} convolution(%p, %q), window={size=3x3 stride=1x2 pad=1_1x1_1 "
            "rhs_reversal=0x1}, dim_labels=b01f_01io->b01f, feature_group_count=2, "
            "operand_precision={highest,highest}");
  EXPECT_EQ(m.Print(O::kReduceWindow, {m.Ints(K::kWindow, {2, 0, 0, 0, 0, 0, 0})}),
            "%r = f32[4]{0} reduce-window(%p), window={size=2 stride=0 lhs_dilate=0 rhs_dilate=0}");
  EXPECT_EQ(m.Print(O::kReduceWindow, {m.Ints(K::kWindow, {})}),
            "%r = f32[4]{0} reduce-window(%p)");
}

TEST(PrintInstruction, ManyKindsOfAttributes) {  // E54, E55, E56
  Line m;
  EXPECT_EQ(m.Print(O::kFft, {m.Ints(K::kFftLength, {8}), m.Int(K::kFftType, 1)}),
            "%r = f32[4]{0} fft(%p), fft_type=IFFT, fft_length={8}");
  EXPECT_EQ(m.Print(O::kTopK, {m.Int(K::kK, 2), m.Int(K::kLargest, 0), m.Int(K::kIsStable, 1)}),
            "%r = f32[4]{0} topk(%p), k=2, largest=false, is_stable=true");
  EXPECT_EQ(m.Print(O::kBatchNormTraining,
                    {m.Int(K::kEpsilon, std::bit_cast<int64_t>(1e-5)), m.Int(K::kFeatureIndex, 1)}),
            "%r = f32[4]{0} batch-norm-training(%p), epsilon=1e-05, feature_index=1");
  EXPECT_EQ(m.Print(O::kRng, {m.Int(K::kDistribution, 1)}),
            "%r = f32[4]{0} rng(%p), distribution=rng_uniform");
  EXPECT_EQ(m.Print(O::kAllReduce, {m.Text(K::kReplicaGroups, "{}"), m.Int(K::kChannelId, 0),
                                    m.Int(K::kUseGlobalDeviceIds, 1)}),
            "%r = f32[4]{0} all-reduce(%p), channel_id=0, replica_groups={}, "
            "use_global_device_ids=true");
  EXPECT_EQ(m.Print(O::kParameter,
                    {m.Int(K::kParameterNumber, 3), m.Ints(K::kParameterReplication, {1, 0})}, {}),
            "%r = f32[4]{0} parameter(3), parameter_replication={true,false}");
}

TEST(PrintInstruction, CustomCall) {  // section 11.5; A literal repeats its shape
  Line m;
  const LiteralId literal = m.Literal<int32_t>(m.S32({2}), {1, 2});
  const uint32_t shapes[] = {m.F32({4}).value, m.S32({2}).value};
  EXPECT_EQ(
      m.Print(
          O::kCustomCall,
          {m.Text(K::kCustomCallTarget, "a\"b"), m.Ints(K::kWindow, {}),
           m.module.RefsAttribute(K::kOperandLayoutConstraints, shapes),
           m.Int(K::kCustomCallHasSideEffect, 1), m.module.IdAttribute(K::kLiteral, literal.value),
           m.Ints(K::kOutputToOperandAliasing, {1, 0, 1, 0, 2, 1, 2, 0, 1, 3}),
           m.Int(K::kApiVersion, 4), m.Int(K::kSchedule, 1), m.Calls({m.main})},
          {m.p, m.q}),
      "%r = f32[4]{0} custom-call(%p, %q), window={}, custom_call_target=\"a\\\"b\", "
      "operand_layout_constraints={f32[4]{0}, s32[2]{0}}, custom_call_has_side_effect=true, "
      "literal=s32[2]{0} {1, 2}, output_to_operand_aliasing={{0}: (1, {}), {1,2}: (0, {3})}, "
      "schedule=SCHEDULE_LATEST, api_version=API_VERSION_TYPED_FFI, called_computations={%main}");
}

TEST(PrintInstruction, CalledComputations) {  // section 11.6
  Line m;
  const CompId a = AddReducer(m, "x", "y", "z");
  const CompId b = m.Computation("b");
  EXPECT_EQ(m.Print(O::kWhile, {m.Calls({b, a})}),
            "%r = f32[4]{0} while(%p), condition=%add_f, body=%b");
  EXPECT_EQ(m.Print(O::kSelectAndScatter, {m.Calls({b, a})}),
            "%r = f32[4]{0} select-and-scatter(%p), select=%b, scatter=%add_f");
  EXPECT_EQ(m.Print(O::kConditional, {m.Calls({a, b, a})}),
            "%r = f32[4]{0} conditional(%p), branch_computations={%add_f, %b, %add_f}");
  EXPECT_EQ(m.Print(O::kConditional, {m.Calls({a, b})}),
            "%r = f32[4]{0} conditional(%p), branch_computations={%add_f, %b}");
  const InstId flag = m.Parameter(m.main, "flag", m.Array(E::kPred, {}), 2);
  EXPECT_EQ(m.Print(O::kConditional, {m.Calls({a, b})}, {flag, m.p, m.p}),
            "%r = f32[4]{0} conditional(%flag, %p, %p), true_computation=%add_f, "
            "false_computation=%b");
  EXPECT_EQ(m.Print(O::kCall, {m.Int(K::kIsComposite, 1), m.Calls({a})}),
            "%r = f32[4]{0} call(%p), to_apply=%add_f, is_composite=true");
  EXPECT_EQ(m.Print(O::kSort, {m.Calls({a}), m.Int(K::kIsStable, 1), m.Ints(K::kDimensions, {0})}),
            "%r = f32[4]{0} sort(%p), dimensions={0}, is_stable=true, to_apply=%add_f");
  EXPECT_EQ(m.Print(O::kAsyncStart, {m.Text(K::kAsyncExecutionThread, "main"), m.Calls({a})}),
            "%r = f32[4]{0} async-start(%p), calls=%add_f");
  EXPECT_EQ(m.Print(O::kAsyncDone, {m.Calls({a})}), "%r = f32[4]{0} async-done(%p)");
}

TEST(PrintInstruction, SharedAttributesInOrder) {
  Line m;
  EXPECT_EQ(
      m.Print(O::kNegate,
              {m.Text(K::kBackendConfig, "x"), m.Text(K::kMetadata, "{op_name=\"n\"}"),
               m.Text(K::kOrigin, "{{\"g\"}}"), m.Text(K::kResultAccuracy, "{mode=highest}"),
               m.Text(K::kStatistics, "{visualizing_index=0,a=1}"), m.After({m.q}),
               m.Text(K::kFrontendAttributes, "{a=\"1\"}"), m.Text(K::kSharding, "{replicated}")}),
      "%r = f32[4]{0} negate(%p), sharding={replicated}, frontend_attributes={a=\"1\"}, "
      "control-predecessors={%q}, statistics={visualizing_index=0,a=1}, "
      "result_accuracy={mode=highest}, origin={{\"g\"}}, metadata={op_name=\"n\"}, "
      "backend_config=\"x\"");
}

TEST(PrintInstruction, BackendConfig) {  // F17, H60
  Line m;
  EXPECT_EQ(m.Print(O::kNegate, {m.Text(K::kBackendConfig, "{\"a\": \"}\", b}")}),
            "%r = f32[4]{0} negate(%p), backend_config={\"a\": \"}\", b}");
  EXPECT_EQ(m.Print(O::kNegate, {m.Text(K::kBackendConfig, "plainA \303\251")}),
            "%r = f32[4]{0} negate(%p), backend_config=\"plainA \\303\\251\"");
  EXPECT_EQ(m.Print(O::kNegate, {m.Text(K::kBackendConfig, "")}), "%r = f32[4]{0} negate(%p)");
  EXPECT_EQ(m.Print(O::kNegate, {m.Text(K::kBackendConfig, "{}")}),
            "%r = f32[4]{0} negate(%p), backend_config={}");
}

TEST(PrintInstruction, UnknownThingsComeBack) {
  Line m;
  EXPECT_EQ(m.Print(O::kUnknown, {m.Text(K::kUnknownAttribute, "zeta={1,2}"),
                                  m.Text(K::kUnknownOpcode, "frobnicate"),
                                  m.Text(K::kMetadata, "{op_name=\"n\"}")}),
            "%r = f32[4]{0} frobnicate(%p), metadata={op_name=\"n\"}, zeta={1,2}");
}

TEST(Text, ShardingWithoutMetadata) {
  EXPECT_EQ(WithoutShardingMetadata("{replicated}"), "{replicated}");
  EXPECT_EQ(WithoutShardingMetadata("{devices=[2]0,1 metadata={op_name=\"a}\"}}"),
            "{devices=[2]0,1}");
  EXPECT_EQ(
      WithoutShardingMetadata("{{maximal device=3 metadata={{op_name=\"a\"}, {}}}, {manual}}"),
      "{{maximal device=3}, {manual}}");
  EXPECT_EQ(WithoutShardingMetadata("{mesh['a'=2], [{'a'}], metadata={op_name=\"n\"}}"),
            "{mesh['a'=2], [{'a'}]}");
}

TEST(Text, ReplicaGroupsWrittenOut) {  // values by hand from section 8.11
  EXPECT_EQ(ExpandedReplicaGroups("[2,4]<=[8]"), "{{0,1,2,3},{4,5,6,7}}");
  EXPECT_EQ(ExpandedReplicaGroups("[4,2]<=[2,4]T(1,0)"), "{{0,4},{1,5},{2,6},{3,7}}");
  EXPECT_EQ(ExpandedReplicaGroups("[2,4]<=[2,2,2]T(0,2,1)"), "{{0,2,1,3},{4,6,5,7}}");
  EXPECT_EQ(ExpandedReplicaGroups("{{0,1}}"), "{{0,1}}");
  EXPECT_EQ(ExpandedReplicaGroups("mesh['x'=2] {'x'}"), "mesh['x'=2] {'x'}");
  EXPECT_EQ(ExpandedReplicaGroups("[2,4]<=[9]"), "[2,4]<=[9]");
  EXPECT_EQ(ExpandedReplicaGroups("[1,9000000]<=[9000000]"), "[1,9000000]<=[9000000]");
}

}  // namespace
}  // namespace hlokit
