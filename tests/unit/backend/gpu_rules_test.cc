// Sections 4.5 to 4.9 and the test matrix of section 6: what the GPU rules ask for, row by row.
#include <gtest/gtest.h>

#include "src/backend/rules.h"
#include "tests/unit/backend/backend_test_util.h"

namespace hlokit {
namespace {

using backend_test::AskedAt;
using backend_test::DeviceNamed;
using backend_test::DeviceRun;
using backend_test::RunOn;

struct Ask {
  std::string_view instruction;
  int operand;  // -1: the result
  std::string_view asked;
};
struct Case {
  const char* name;
  std::string_view device;
  std::vector<std::string> flags;
  std::string_view text;
  std::vector<Ask> asks;
  bool free_entry = false;
};

constexpr std::string_view kPlainDot = R"(HloModule m
ENTRY main {
  x = f32[4,6] parameter(0)
  y = f32[6,8] parameter(1)
  ROOT d = f32[4,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
constexpr std::string_view kFloat8Dot = R"(HloModule m
ENTRY main {
  x = f8e4m3fn[4,6] parameter(0)
  y = f8e4m3fn[6,8] parameter(1)
  ROOT d = f32[4,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
constexpr std::string_view kMixedFloat8Dot = R"(HloModule m
ENTRY main {
  x = f8e5m2[4,6] parameter(0)
  y = f8e4m3fn[6,8] parameter(1)
  ROOT d = f32[4,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
constexpr std::string_view kPackedDot = R"(HloModule m
ENTRY main {
  x = bf16[4,6] parameter(0)
  n = s4[6,8] parameter(1)
  y = bf16[6,8] convert(n)
  ROOT d = bf16[4,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
constexpr std::string_view kInt8Dot = R"(HloModule m
ENTRY main {
  x = s8[4,6] parameter(0)
  y = s8[6,8] parameter(1)
  ROOT d = s32[4,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
// The batch is the fastest dimension of x on entry.
constexpr std::string_view kBatchDot =
    R"(HloModule m, entry_computation_layout={(f32[2,4,6]{0,2,1}, f32[2,6,8]{2,1,0})->f32[2,4,8]{2,1,0}}
ENTRY main {
  x = f32[2,4,6]{0,2,1} parameter(0)
  y = f32[2,6,8]{1,2,0} parameter(1)
  ROOT d = f32[2,4,8]{2,1,0} dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
})";
// Contracted dimensions listed as {2,1}: in memory 2 would have to be slower than 1.
constexpr std::string_view kTwoContracted = R"(HloModule m
ENTRY main {
  x = f32[4,5,6] parameter(0)
  y = f32[6,5,8] parameter(1)
  ROOT d = f32[4,8] dot(x, y), lhs_contracting_dims={2,1}, rhs_contracting_dims={0,1}
})";
constexpr std::string_view kTransposeOfDot = R"(HloModule m
ENTRY main {
  x = f32[2,4,6] parameter(0)
  y = f32[2,6,8] parameter(1)
  d = f32[2,4,8] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
  ROOT t = f32[2,8,4] transpose(d), dimensions={0,2,1}
})";
constexpr std::string_view kRaggedDot = R"(HloModule m
ENTRY main {
  x = f32[11,5] parameter(0)
  y = f32[3,5,7] parameter(1)
  n = s64[3] parameter(2)
  ROOT d = f32[11,7] ragged-dot(x, y, n), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
})";
constexpr std::string_view kFft = R"(HloModule m
ENTRY main {
  x = c64[4,8] parameter(0)
  ROOT f = c64[4,8] fft(x), fft_type=FFT, fft_length={8}
})";
constexpr std::string_view kSort = R"(HloModule m
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  c = s32[] parameter(2)
  e = s32[] parameter(3)
  ROOT l = pred[] compare(a, b), direction=LT
}
ENTRY main {
  k = f32[4,8] parameter(0)
  v = s32[4,8] parameter(1)
  ROOT s = (f32[4,8], s32[4,8]) sort(k, v), dimensions={0}, to_apply=less
})";
constexpr std::string_view kSortOfOneDimension = R"(HloModule m
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT l = pred[] compare(a, b), direction=LT
}
ENTRY main {
  k = f32[8] parameter(0)
  ROOT s = f32[8] sort(k), dimensions={0}, to_apply=less
})";
constexpr std::string_view kTopK = R"(HloModule m
ENTRY main {
  x = f32[4,64] parameter(0)
  t = (f32[4,8], s32[4,8]) custom-call(x), custom_call_target="__gpu$TopK"
  ROOT r = f32[4,8] get-tuple-element(t), index=0
})";
constexpr std::string_view kBitcastConvertDown = R"(HloModule m
ENTRY main {
  x = f32[4,8] parameter(0)
  ROOT b = f16[4,8,2] bitcast-convert(x)
})";
constexpr std::string_view kBitcastConvertUp =
    R"(HloModule m, entry_computation_layout={(f16[4,8,2]{1,0,2})->f32[4,8]{1,0}}
ENTRY main {
  x = f16[4,8,2]{1,0,2} parameter(0)
  ROOT b = f32[4,8]{1,0} bitcast-convert(x)
})";
constexpr std::string_view kTriangularSolve = R"(HloModule m
ENTRY main {
  a = f32[3,4,4] parameter(0)
  b = f32[3,4,5] parameter(1)
  ROOT t = f32[3,4,5] triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
})";
// As in a generated module of the reference results: tiles and memory spaces stay.
constexpr std::string_view kTriangularSolveWithExtras = R"(HloModule m
ENTRY main {
  a = f32[4,4]{1,0:T(8,128)(2,1)} parameter(0)
  b = f32[4,5]{1,0:S(1)} parameter(1)
  ROOT t = f32[4,5]{1,0} triangular-solve(a, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
})";
constexpr std::string_view kAllGather = R"(HloModule m
ENTRY main {
  x = f32[3,4,5] parameter(0)
  ROOT g = f32[3,8,5] all-gather(x), replica_groups={{0,1}}, dimensions={1}
})";
constexpr std::string_view kReduceScatter = R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
ENTRY main {
  x = f32[3,8,5] parameter(0)
  ROOT g = f32[3,8,3] reduce-scatter(x), replica_groups={{0,1}}, dimensions={2}, to_apply=sum
})";
constexpr std::string_view kAllToAll = R"(HloModule m
ENTRY main {
  x = f32[3,8,5] parameter(0)
  ROOT g = f32[3,8,5] all-to-all(x), replica_groups={{0,1}}, dimensions={1}
})";
constexpr std::string_view kAllToAllOfTuple = R"(HloModule m
ENTRY main {
  x = f32[3,8] parameter(0)
  y = f32[3,8] parameter(1)
  ROOT g = (f32[3,8], f32[3,8]) all-to-all(x, y), replica_groups={{0,1}}
})";
constexpr std::string_view kSend = R"(HloModule m
ENTRY main {
  x = f32[3,8] parameter(0)
  t = token[] after-all()
  s = (f32[3,8], u32[], token[]) send(x, t), channel_id=1
  ROOT d = token[] send-done(s), channel_id=1
})";
constexpr std::string_view kRecv = R"(HloModule m
ENTRY main {
  t = token[] after-all()
  r = (f32[3,8], u32[], token[]) recv(t), channel_id=1
  ROOT d = (f32[3,8], token[]) recv-done(r), channel_id=1
})";
constexpr std::string_view kMoveToHost = R"(HloModule m
ENTRY main {
  x = f32[3,8] parameter(0)
  ROOT h = f32[3,8] custom-call(x), custom_call_target="MoveToHost"
})";

const Case kCases[] = {
    {"plain f32 dot", "sm_80", {}, kPlainDot, {{"d", 0, ""}, {"d", 1, ""}, {"d", -1, ""}}},
    {"D3: free parameters",
     "sm_80",
     {},
     kPlainDot,
     {{"d", 0, "gpu.dot.free-parameter {1,0}"}, {"d", 1, "gpu.dot.free-parameter {1,0}"}},
     true},
    {"rule B on Hopper",
     "h100",
     {},
     kFloat8Dot,
     {{"d", 0, "gpu.dot.contracting-minor {1,0}"}, {"d", 1, "gpu.dot.contracting-minor {0,1}"}}},
    {"rule B on a workstation Blackwell",
     "rtx6000pro",
     {},
     kFloat8Dot,
     {{"d", 0, "gpu.dot.contracting-minor {1,0}"}, {"d", 1, "gpu.dot.contracting-minor {0,1}"}}},
    {"rule B not on Blackwell", "b200", {}, kFloat8Dot, {{"d", 0, ""}, {"d", 1, ""}}},
    {"rule B on AMD", "gfx90a", {}, kFloat8Dot, {{"d", 1, "gpu.dot.contracting-minor {0,1}"}}},
    {"rule B not of f8e5m2", "h100", {}, kMixedFloat8Dot, {{"d", 0, ""}, {"d", 1, ""}}},
    {"rule B of s8", "b200", {}, kInt8Dot, {{"d", 1, "gpu.dot.contracting-minor {0,1}"}}},
    {"D1: packed operand",
     "sm_80",
     {},
     kPackedDot,
     {{"d", 0, ""}, {"d", 1, "gpu.dot.contracting-minor {0,1}"}}},
    {"D1 switched off",
     "sm_80",
     {"xla_gpu_experimental_pack_dot_operands_along_k_dimension=false"},
     kPackedDot,
     {{"d", 0, ""}, {"d", 1, ""}}},
    {"D2: a batch that is fastest goes, an order that will do stays",
     "sm_80",
     {},
     kBatchDot,
     {{"d", 0, "gpu.dot.matrix {2,1,0}"},
      {"d", 1, "gpu.dot.matrix {1,2,0}"},
      {"d", -1, "gpu.dot.result {2,1,0}"}}},
    {"D2: the listed order of contracted dimensions matters",
     "sm_80",
     {},
     kTwoContracted,
     {{"d", 0, "gpu.dot.matrix {0,1,2}"}, {"d", 1, "gpu.dot.matrix {2,1,0}"}, {"d", -1, ""}}},
    {"transpose of a dot",
     "sm_80",
     {},
     kTransposeOfDot,
     {{"t", 0, "gpu.transpose.of-dot {1,2,0}"}, {"d", -1, "gpu.dot.result {1,2,0}"}}},
    {"ragged-dot",
     "sm_80",
     {},
     kRaggedDot,
     {{"d", 0, "gpu.ragged-dot.row-major {1,0}"},
      {"d", 1, "gpu.ragged-dot.row-major {2,1,0}"},
      {"d", 2, ""},
      {"d", -1, "gpu.ragged-dot.row-major {1,0}"}}},
    {"fft",
     "sm_80",
     {},
     kFft,
     {{"f", 0, "gpu.fft.row-major {1,0}"}, {"f", -1, "gpu.fft.row-major {1,0}"}}},
    {"sort",
     "sm_80",
     {},
     kSort,
     {{"s", 0, "gpu.sort.row-major {1,0}"},
      {"s", 1, "gpu.sort.row-major {1,0}"},
      {"s", -1, "gpu.sort.row-major {1,0}"}}},
    {"sort of one dimension", "sm_80", {}, kSortOfOneDimension, {{"s", 0, ""}, {"s", -1, ""}}},
    {"TopK", "sm_80", {}, kTopK, {{"t", -1, "gpu.topk.row-major {1,0}"}, {"t", 0, ""}}},
    {"bitcast-convert to narrower",
     "sm_80",
     {},
     kBitcastConvertDown,
     {{"b", 0, "gpu.bitcast-convert.last-minor {1,0}"},
      {"b", -1, "gpu.bitcast-convert.last-minor {2,1,0}"}}},
    // The order of the other dimensions of the larger side stays: {1,0,2} becomes {2,1,0}.
    {"bitcast-convert to wider",
     "sm_80",
     {},
     kBitcastConvertUp,
     {{"b", 0, "gpu.bitcast-convert.last-minor {2,1,0}"},
      {"b", -1, "gpu.bitcast-convert.last-minor {1,0}"}}},
    {"triangular-solve",
     "sm_80",
     {},
     kTriangularSolve,
     {{"t", 0, "gpu.triangular-solve.column-major {1,2,0}"},
      {"t", 1, "gpu.triangular-solve.column-major {1,2,0}"},
      {"t", -1, "gpu.triangular-solve.column-major {1,2,0}"}}},
    {"triangular-solve keeps tiles and memory spaces",
     "sm_80",
     {},
     kTriangularSolveWithExtras,
     {{"t", 0, "gpu.triangular-solve.column-major {0,1:T(8,128)(2,1)}"},
      {"t", 1, "gpu.triangular-solve.column-major {0,1:S(1)}"},
      {"t", -1, "gpu.triangular-solve.column-major {0,1}"}}},
    {"all-gather", "sm_80", {}, kAllGather, {{"g", -1, "gpu.all-gather.dim-major {2,0,1}"}}},
    {"reduce-scatter",
     "sm_80",
     {},
     kReduceScatter,
     {{"g", -1, "gpu.reduce-scatter.dim-major {1,0,2}"}}},
    {"all-to-all", "sm_80", {}, kAllToAll, {{"g", -1, "gpu.all-to-all.dim-major {2,0,1}"}}},
    {"all-to-all of a tuple", "sm_80", {}, kAllToAllOfTuple, {{"g", -1, ""}}},
    {"send: both sides of the copy in front of it",
     "sm_80",
     {},
     kSend,
     {{"copy", 0, "gpu.send.row-major {1,0}"}, {"copy", -1, "gpu.send.row-major {1,0}"}}},
    {"recv", "sm_80", {}, kRecv, {{"r", -1, "gpu.recv.row-major {1,0}"}}},
    {"MoveToHost",
     "sm_80",
     {},
     kMoveToHost,
     {{"h", 0, "gpu.host-move.row-major {1,0}"}, {"h", -1, "gpu.host-move.row-major {1,0}"}}},
};

TEST(GpuRules, Table) {
  for (const Case& c : kCases) {
    DeviceRun run = RunOn(DeviceNamed(c.device, c.flags), c.text, c.free_entry);
    for (const Ask& ask : c.asks) {
      EXPECT_EQ(AskedAt(run, ask.instruction, ask.operand), ask.asked)
          << c.name << ", " << ask.instruction << " operand " << ask.operand;
    }
  }
}

// Section 6: the result layout of a dot follows the transpose, so that no copy is left.
TEST(GpuRules, TransposeOfDotMovesNothing) {
  DeviceRun run = RunOn(DeviceNamed("sm_80"), kTransposeOfDot);
  EXPECT_TRUE(run.report.copies.empty());
  EXPECT_EQ(backend_test::Layouts(run.module, "d"), "{1,2,0}");
  EXPECT_EQ(backend_test::Layouts(run.module, "t"), "{2,1,0}");
}

TEST(GpuRules, RowReductionFrom32Elements) {
  std::unique_ptr<LayoutRules> rules = MakeLayoutRules(DeviceNamed("sm_80"));
  auto propagates = [&](std::string_view size) {
    std::string text =
        "HloModule m\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT s = f32[] add(a, b)\n}\nENTRY main {\n  x = f32[" +
        std::string(size) +
        ",4] parameter(0)\n  z = f32[] constant(0)\n"
        "  ROOT r = f32[4] reduce(x, z), dimensions={0}, to_apply=sum\n}\n";
    Module module = layout_test::Read(text);
    return rules->PropagateReductionToOperand(module, layout_test::Find(module, "r"));
  };
  EXPECT_FALSE(propagates("16"));
  EXPECT_FALSE(propagates("31"));
  EXPECT_TRUE(propagates("32"));
}

TEST(GpuRules, TopKKeepsItsLayout) {
  Module module = layout_test::Read(kTopK);
  InstId call = layout_test::Find(module, "t");
  EXPECT_FALSE(MakeLayoutRules(DeviceNamed("sm_80"))->MayChangeLayout(module, call));
  EXPECT_TRUE(LayoutRules().MayChangeLayout(module, call));
}

// Section 4.9 by hand: unit dimensions stay where the template has them.
TEST(GpuRules, ReshapeKeepsUnitDimensions) {
  struct Reshape {
    std::string_view source, target, aligned;
  };
  constexpr Reshape kReshapes[] = {
      {"f32[4,6]{1,0}", "f32[4,1,6]{2,1,0}", "{2,1,0}"},
      {"f32[4,6]{0,1}", "f32[4,1,6]{2,1,0}", "{0,2,1}"},  // 1 follows 6 in the template
      {"f32[4,6]{1,0}", "f32[1,4,6]{2,1,0}", "{2,1,0}"},
      {"f32[4,6]{1,0}", "f32[4,6,1]{2,1,0}", "{2,1,0}"},  // a leading unit stays in front
      {"f32[4,6]{0,1}", "f32[4,6,1]{2,1,0}", "{2,0,1}"},
      {"f32[4,6]{1,0}", "f32[24]{0}", "{0}"},
      {"f32[4,6]{0,1}", "f32[24]{0}", "unset"},
      {"f32[24]{0}", "f32[1,24]{1,0}", "unset"},  // one real dimension on both sides
  };
  for (const Reshape& r : kReshapes) {
    Module module;
    Result<ShapeId> source = ReadShape(std::string(r.source), module);
    Result<ShapeId> target = ReadShape(std::string(r.target), module);
    ASSERT_TRUE(source && target);
    LayoutId aligned =
        backend::AlignGpuReshape(module, module.shapes().layout(*source), *source, *target);
    EXPECT_EQ(aligned.valid() ? module.shapes().LayoutText(aligned) : "unset", r.aligned)
        << r.source << " -> " << r.target;
  }
}

TEST(GpuRules, MatrixLibraryCallsComeLater) {
  Module module = layout_test::Read(R"(HloModule m
ENTRY main {
  x = f32[4,4] parameter(0)
  ROOT g = f32[4,4] custom-call(x, x), custom_call_target="__cublas$lt$matmul"
})");
  Result<LayoutAssignmentReport> report =
      backend_test::TryRun(DeviceNamed("sm_80"), module, nullptr);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().exit_code, ExitCode::kUnsupported);
  EXPECT_EQ(report.error().diagnostics[0].id, DiagId::kBackendRefuses);
}

TEST(GpuRules, HostComputationGivesItsLayouts) {
  DeviceRun run = RunOn(DeviceNamed("sm_80"), R"(HloModule m
work {
  p = f32[3,8]{0,1} parameter(0)
  ROOT n = f32[3,8]{0,1} negate(p)
}, execution_thread="host"
ENTRY main {
  x = f32[3,8] parameter(0)
  y = f32[3,8] exponential(x)
  s = ((f32[3,8]), f32[3,8], s32[]) async-start(y), calls=work, async_execution_thread="host"
  ROOT d = f32[3,8] async-done(s), calls=work, async_execution_thread="host"
})");
  // What the start takes is the value itself, so the request is one on %y.
  EXPECT_EQ(AskedAt(run, "y", -1), "gpu.host-call {0,1}");
  EXPECT_EQ(AskedAt(run, "s", -1), "gpu.host-call {0,1}");
  EXPECT_EQ(backend_test::Layouts(run.module, "d"), "{0,1}");
}

}  // namespace
}  // namespace hlokit
