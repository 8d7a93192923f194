// Does every kernel of every target of this machine move every element to the right place?

#include "hlokit/permute.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "src/tensor/permute_kernels.h"

namespace hlokit {
namespace {

using Dims = std::vector<int64_t>;

std::vector<uint8_t> RandomBytes(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(n);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

std::string Describe(const PermuteSpec& spec) {
  std::string text = std::to_string(spec.element_bits) + " bits, dims";
  for (int64_t dim : spec.dims) text += " " + std::to_string(dim);
  text += ", permutation";
  for (int64_t axis : spec.permutation) text += " " + std::to_string(axis);
  return text;
}

/// Runs the plan at odd addresses, with guard bytes on both sides, and compares with the oracle.
void CheckAgainstNaive(const PermuteSpec& spec, const PermuteOptions& options, size_t misalign) {
  Result<PermutePlan> plan = PermutePlan::Make(spec);
  ASSERT_TRUE(plan) << FormatError(plan.error());
  const size_t bytes = static_cast<size_t>(plan->bytes());
  constexpr size_t kGuard = 64;
  const std::vector<uint8_t> input = RandomBytes(bytes + misalign, 7);
  std::vector<uint8_t> expected(bytes, 0xEE);
  std::vector<uint8_t> actual(bytes + 2 * kGuard + misalign, 0xEE);
  ASSERT_TRUE(PermuteNaive(spec, input.data() + misalign, expected.data()));
  plan->Run(input.data() + misalign, actual.data() + kGuard + misalign, options);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), actual.begin() + kGuard + misalign))
      << Describe(spec);
  for (size_t i = 0; i < kGuard; ++i) {
    ASSERT_EQ(actual[misalign + i], 0xEE) << Describe(spec);
    ASSERT_EQ(actual[actual.size() - 1 - i], 0xEE) << Describe(spec);
  }
}

/// Restores the normal choice of target, whatever happens in a test.
struct TargetGuard {
  explicit TargetGuard(int64_t target) { Set(target); }
  ~TargetGuard() { Set(0); }
  static void Set(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

std::vector<int64_t> Targets() {
  TargetGuard::Set(0);
  std::vector<int64_t> targets;
  // The scalar fallback is always compiled and is not in the list of supported targets.
  for (int64_t bit = 1; bit > 0 && bit < HWY_EMU128; bit <<= 1) {
    // HWY_TARGETS: what the compiler made kernels for; a machine may support more than that.
    if ((hwy::SupportedTargets() & HWY_TARGETS & bit) != 0) targets.push_back(bit);
  }
  targets.push_back(HWY_SCALAR);
  return targets;
}

TEST(Permute, TargetsIncludeTheFallback) {
  // Guards the tests below against testing one target only under many names.
  const std::vector<int64_t> targets = Targets();
  EXPECT_GE(targets.size(), 2u);
  for (int64_t target : targets) {
    TargetGuard guard(target);
    EXPECT_EQ(internal::KernelTarget(), hwy::TargetName(target));
  }
}

TEST(Permute, OracleAgreesWithHandWrittenExample) {
  // [[1,2,3],[4,5,6]] transposed is [[1,4],[2,5],[3,6]].
  const std::vector<uint16_t> input = {1, 2, 3, 4, 5, 6};
  std::vector<uint16_t> output(6);
  const PermuteSpec spec{.dims = {2, 3}, .permutation = {1, 0}, .element_bits = 16};
  ASSERT_TRUE(PermuteNaive(spec, input.data(), output.data()));
  EXPECT_EQ(output, (std::vector<uint16_t>{1, 4, 2, 5, 3, 6}));
  // The same values as 4-bit elements; the first element sits in the low half of a byte.
  const std::vector<uint8_t> packed = {0x21, 0x43, 0x65};
  std::vector<uint8_t> moved(3);
  PermuteSpec nibbles{.dims = {2, 3}, .permutation = {1, 0}, .element_bits = 4};
  ASSERT_TRUE(PermuteNaive(nibbles, packed.data(), moved.data()));
  EXPECT_EQ(moved, (std::vector<uint8_t>{0x41, 0x52, 0x63}));
  // High half first: the bytes read 1 2 | 3 4 | 5 6 from the left.
  nibbles.low_nibble_first = false;
  const std::vector<uint8_t> high = {0x12, 0x34, 0x56};
  ASSERT_TRUE(PermuteNaive(nibbles, high.data(), moved.data()));
  EXPECT_EQ(moved, (std::vector<uint8_t>{0x14, 0x25, 0x36}));
}

TEST(Permute, EveryTargetAgreesWithTheOracle) {
  const std::vector<std::pair<Dims, Dims>> cases = {{{33, 65}, {1, 0}},
                                                    {{64, 128}, {1, 0}},
                                                    {{257, 40}, {1, 0}},
                                                    {{300, 3}, {1, 0}},
                                                    {{3, 300}, {1, 0}},
                                                    {{1000, 2}, {1, 0}},
                                                    {{4, 999}, {1, 0}},
                                                    {{7, 5, 3}, {2, 1, 0}},
                                                    {{9, 31, 33, 4}, {3, 2, 1, 0}},
                                                    {{5, 16, 3}, {0, 2, 1}},
                                                    {{6, 1, 50, 20}, {2, 3, 0, 1}},
                                                    {{3, 16, 8, 2, 2, 6}, {0, 4, 5, 3, 1, 2}},
                                                    {{2, 2, 2, 2, 2, 2, 2}, {6, 4, 2, 0, 1, 3, 5}},
                                                    {{12, 7, 48}, {1, 0, 2}},
                                                    {{6, 5, 4, 3, 2}, {2, 0, 4, 1, 3}},
                                                    {{513, 17}, {1, 0}},
                                                    {{2100, 5}, {1, 0}},
                                                    {{5, 2100}, {1, 0}},
                                                    {{8, 70, 9, 16}, {0, 2, 1, 3}}};
  for (int64_t target : Targets()) {
    TargetGuard guard(target);
    SCOPED_TRACE(hwy::TargetName(target));
    for (const auto& [dims, permutation] : cases) {
      for (int64_t bits : {4, 8, 16, 24, 32, 64, 96, 128}) {
        for (PermuteOptions::Streaming streaming :
             {PermuteOptions::Streaming::kNever, PermuteOptions::Streaming::kAlways}) {
          CheckAgainstNaive({.dims = dims, .permutation = permutation, .element_bits = bits},
                            {.threads = 1, .streaming = streaming}, bits == 32 ? 4 : bits / 40);
        }
      }
    }
  }
}

TEST(Permute, RandomShapesAgreeWithTheOracle) {
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    const size_t rank = random() % 7;
    PermuteSpec spec;
    int64_t elements = 1;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t limit = std::max<int64_t>(1, std::min<int64_t>(90, 60000 / elements));
      spec.dims.push_back(1 + random() % limit);
      elements *= spec.dims.back();
    }
    spec.permutation.resize(rank);
    std::iota(spec.permutation.begin(), spec.permutation.end(), 0);
    std::shuffle(spec.permutation.begin(), spec.permutation.end(), random);
    constexpr int64_t kBits[] = {4, 8, 16, 32, 64, 128, 24, 40};
    spec.element_bits = kBits[random() % 8];
    spec.low_nibble_first = random() % 2 == 0;
    CheckAgainstNaive(spec,
                      {.threads = 1 + static_cast<int>(random() % 3),
                       .streaming = static_cast<PermuteOptions::Streaming>(random() % 3)},
                      random() % 65);
  }
}

TEST(Permute, LargeTileShapesAgreeWithTheOracle) {
  // More than one macro tile in both directions, in all sizes that have kernels.
  for (int64_t bits : {8, 16, 32, 64}) {
    CheckAgainstNaive({.dims = {1500, 1333}, .permutation = {1, 0}, .element_bits = bits},
                      {.threads = 2, .streaming = PermuteOptions::Streaming::kAlways}, 0);
    CheckAgainstNaive({.dims = {40, 70, 3, 64}, .permutation = {3, 1, 2, 0}, .element_bits = bits},
                      {.threads = 2, .streaming = PermuteOptions::Streaming::kAlways}, 0);
  }
}

TEST(Permute, StridedSources) {
  // Every second element of a 4 x 10 matrix, and a broadcast dimension.
  std::vector<uint32_t> input(40);
  std::iota(input.begin(), input.end(), 0u);
  PermuteSpec spec{.dims = {4, 5}, .permutation = {1, 0}, .element_bits = 32, .strides = {10, 2}};
  std::vector<uint32_t> output(20);
  Result<PermutePlan> plan = PermutePlan::Make(spec);
  ASSERT_TRUE(plan);
  plan->Run(input.data(), output.data());
  for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(output[i], i % 4 * 10 + i / 4 * 2);
  spec = {.dims = {3, 4}, .permutation = {0, 1}, .element_bits = 32, .strides = {0, 1}};
  output.assign(12, 99);
  plan = PermutePlan::Make(spec);
  ASSERT_TRUE(plan);
  plan->Run(input.data(), output.data());
  for (uint32_t i = 0; i < 12; ++i) EXPECT_EQ(output[i], i % 4);
}

TEST(Permute, CanonicalFormOfTheSeedExample) {
  // 16,128 and 2,64 travel together, so both specs need the same three loops and no more.
  const auto loops = [](const Dims& dims, const Dims& permutation) {
    Result<PermutePlan> plan =
        PermutePlan::Make({.dims = dims, .permutation = permutation, .element_bits = 32});
    std::vector<std::array<int64_t, 3>> result;
    for (const PermuteLoop& loop : plan->loops()) {
      result.push_back({loop.extent, loop.src_stride, loop.dst_stride});
    }
    return result;
  };
  const auto folded = loops({3, 2048, 2, 128}, {0, 3, 2, 1});
  EXPECT_EQ(folded, loops({3, 16, 128, 2, 2, 64}, {0, 4, 5, 3, 1, 2}));
  const std::vector<std::array<int64_t, 3>> expected = {{3, 2048 * 256 * 4, 2048 * 256 * 4},
                                                        {128, 4, 2 * 2048 * 4},
                                                        {2, 128 * 4, 2048 * 4},
                                                        {2048, 256 * 4, 4}};
  EXPECT_EQ(folded, expected);
}

TEST(Permute, EmptyAndScalar) {
  for (const auto& [dims, permutation] : std::vector<std::pair<Dims, Dims>>{
           {{}, {}},
           {{0}, {0}},
           {{3, 0, int64_t{1} << 40, int64_t{1} << 40}, {3, 1, 0, 2}},
           {{1, 1}, {1, 0}}}) {
    CheckAgainstNaive({.dims = dims, .permutation = permutation, .element_bits = 64}, {}, 0);
  }
}

TEST(Permute, RefusesNonsense) {
  const auto code = [](PermuteSpec spec) {
    Result<PermutePlan> plan = PermutePlan::Make(spec);
    return plan ? std::string("ok") : std::string(DiagCode(plan.error().diagnostics[0].id));
  };
  EXPECT_EQ(code({.dims = {2, 3}, .permutation = {0}}), "T001");
  EXPECT_EQ(code({.dims = {2, 3}, .permutation = {0, 0}}), "T001");
  EXPECT_EQ(code({.dims = {2, 3}, .permutation = {0, 2}}), "T001");
  EXPECT_EQ(code({.dims = {2, 3}, .permutation = {0, -1}}), "T001");
  EXPECT_EQ(code({.dims = {2, -3}, .permutation = {0, 1}}), "T002");
  EXPECT_EQ(code({.dims = {int64_t{1} << 40, int64_t{1} << 40}, .permutation = {0, 1}}), "T002");
  EXPECT_EQ(code({.dims = {4}, .permutation = {0}, .element_bits = 12}), "T003");
  EXPECT_EQ(code({.dims = {4}, .permutation = {0}, .element_bits = 0}), "T003");
  EXPECT_EQ(code({.dims = {4}, .permutation = {0}, .element_bits = 8, .strides = {-1}}), "T002");
  EXPECT_EQ(code({.dims = {4}, .permutation = {0}, .element_bits = 8, .strides = {INT64_MAX}}),
            "T002");
}

TEST(Permute, SinkSeesTheSameBytes) {
  std::mt19937 random(3);
  for (const auto& [dims, permutation] :
       std::vector<std::pair<Dims, Dims>>{{{70, 90, 11}, {2, 1, 0}},
                                          {{70, 90, 11}, {1, 0, 2}},
                                          {{4, 5000}, {0, 1}},
                                          {{7, 33, 5, 6}, {3, 0, 2, 1}},
                                          {{}, {}}}) {
    for (int64_t bits : {4, 8, 32, 96}) {
      for (int64_t chunk : {1, 100, 4096, 1 << 20}) {
        const PermuteSpec spec{.dims = dims, .permutation = permutation, .element_bits = bits};
        Result<PermutePlan> plan = PermutePlan::Make(spec);
        ASSERT_TRUE(plan);
        const std::vector<uint8_t> input =
            RandomBytes(static_cast<size_t>(plan->bytes()), random());
        std::vector<uint8_t> expected(input.size());
        ASSERT_TRUE(PermuteNaive(spec, input.data(), expected.data()));
        std::vector<uint8_t> actual;
        size_t largest = 0;
        ASSERT_TRUE(
            plan->RunToSink(input.data(), chunk, [&](std::span<const std::byte> piece) -> Status {
              const uint8_t* p = reinterpret_cast<const uint8_t*>(piece.data());
              actual.insert(actual.end(), p, p + piece.size());
              largest = std::max(largest, piece.size());
              return {};
            }));
        EXPECT_EQ(actual, expected) << Describe(spec) << " chunk " << chunk;
        if (bits != 4) {
          EXPECT_LE(largest, static_cast<size_t>(std::max<int64_t>(chunk, bits / 8)));
        }
      }
    }
  }
}

TEST(Permute, SinkErrorStopsTheRun) {
  Result<PermutePlan> plan =
      PermutePlan::Make({.dims = {100, 100}, .permutation = {1, 0}, .element_bits = 32});
  std::vector<uint8_t> input(40000);
  int calls = 0;
  Status status = plan->RunToSink(input.data(), 4000, [&](std::span<const std::byte>) -> Status {
    if (++calls == 3) return MakeError(ExitCode::kIo, DiagId::kCannotWrite, "disk full");
    return {};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().exit_code, ExitCode::kIo);
  EXPECT_EQ(calls, 3);
}

TEST(Permute, ReshapeOfFortranOrder) {
  // numpy: a = arange(6).reshape(2,3,order='F') stores 0 1 2 3 4 5 and reads [[0,2,4],[1,3,5]]; its
  // row-major reshape to (3,2) is [[0,2],[4,1],[3,5]], transposed [[0,4,3],[2,1,5]].
  const std::vector<uint32_t> memory = {0, 1, 2, 3, 4, 5};
  Result<ReshapeTranspose> plain =
      ComposeReshapeTranspose(Dims{2, 3}, true, Dims{3, 2}, Dims{1, 0}, 32);
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->needs_copy);
  std::vector<uint32_t> copied(6);
  ASSERT_TRUE(PermuteNaive(plain->spec, memory.data(), copied.data()));
  EXPECT_EQ(copied, (std::vector<uint32_t>{0, 2, 4, 1, 3, 5}));
  // A reshape that only splits dimensions needs no copy: (2,3) -> (2,1,3) -> axes (2,1,0) is the
  // memory itself.
  Result<ReshapeTranspose> split =
      ComposeReshapeTranspose(Dims{2, 3}, true, Dims{2, 1, 3}, Dims{2, 1, 0}, 32);
  ASSERT_TRUE(split);
  EXPECT_FALSE(split->needs_copy);
  ASSERT_TRUE(PermuteNaive(split->spec, memory.data(), copied.data()));
  EXPECT_EQ(copied, memory);
  EXPECT_FALSE(ComposeReshapeTranspose(Dims{2, 3}, false, Dims{5}, Dims{0}, 32));
  EXPECT_FALSE(ComposeReshapeTranspose(Dims{2, 3}, false, Dims{6}, Dims{1}, 32));
}

}  // namespace
}  // namespace hlokit
