// Does io_transposes.json say what we think, and does simplification keep every element in its
// place?

#include "hlokit/io_transposes.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "gtest/gtest.h"
#include "hlokit/permute.h"
#include "src/base/json.h"

namespace hlokit {
namespace {

using Dims = std::vector<int64_t>;

std::string FirstLine(const Error& error) {
  const Diagnostic& d = error.diagnostics[0];
  return std::to_string(d.location.line) + ":" + std::to_string(d.location.column) + ": " +
         d.message + " [" + std::string(DiagCode(d.id)) + "]";
}

std::string ErrorOf(std::string_view text) {
  const Result<IoTransposes> result = ParseIoTransposes(text);
  return result ? "ok" : FirstLine(result.error());
}

TEST(IoTransposesJson, ReadsTheSeedExample) {
  const Result<IoTransposes> specs = ParseIoTransposes(
      R"([ { "input_name": "p0", "reshape": [3, 2048, 2, 128], "transpose": [0, 3, 2, 1] },
  { "input_name": "weight_7", "reshape": [768, 768], "transpose": [1, 0] } ])");
  ASSERT_TRUE(specs) << FormatError(specs.error());
  ASSERT_EQ(specs->entries.size(), 2u);
  EXPECT_EQ(specs->entries[0].input_name, "p0");
  EXPECT_EQ(specs->entries[0].reshape, (Dims{3, 2048, 2, 128}));
  EXPECT_EQ(specs->entries[0].transpose, (Dims{0, 3, 2, 1}));
  EXPECT_EQ(specs->entries[1].location.line, 2u);
  EXPECT_EQ(specs->entries[1].location.column, 3u);
  EXPECT_TRUE(specs->warnings.empty());
  EXPECT_EQ(
      WriteIoTransposes(specs->entries),
      "[\n"
      "  {\"input_name\": \"p0\", \"reshape\": [3, 2048, 2, 128], \"transpose\": [0, 3, 2, 1]},\n"
      "  {\"input_name\": \"weight_7\", \"reshape\": [768, 768], \"transpose\": [1, 0]}\n"
      "]\n");
  EXPECT_EQ(WriteIoTransposes({}), "[]\n");
}

TEST(IoTransposesJson, MessagesOfTheSeed) {
  EXPECT_EQ(ErrorOf(R"([{"reshape": [1], "transpose": [0]}])"),
            "1:2: input_name not found in json [N003]");
  EXPECT_EQ(ErrorOf("[\n {\"input_name\": \"a\", \"transpose\": [0]}]"),
            "2:2: reshape not found in json [N003]");
  EXPECT_EQ(ErrorOf(R"([{"input_name": "a", "reshape": [1]}])"),
            "1:2: transpose not found in json [N003]");
  EXPECT_EQ(ErrorOf(R"([{"input_name": "a", "reshape": ["1"], "transpose": [0]}])"),
            "1:34: type must be number, but is string [N004]");
  EXPECT_EQ(ErrorOf(R"([{"input_name": "a", "reshape": [true], "transpose": [0]}])"),
            "1:34: type must be number, but is boolean [N004]");
  EXPECT_EQ(ErrorOf(R"([{"input_name": "a", "reshape": [null], "transpose": [0]}])"),
            "1:34: type must be number, but is null [N004]");
  EXPECT_EQ(ErrorOf(R"([{"input_name": 7, "reshape": [1], "transpose": [0]}])"),
            "1:17: type must be string, but is number [N004]");
  EXPECT_EQ(ErrorOf(R"([{"input_name": "a", "reshape": 1, "transpose": [0]}])"),
            "1:33: type must be array, but is number [N004]");
  EXPECT_EQ(ErrorOf(R"({"p0": {"reshape": [1], "transpose": [0]}})"),
            "1:1: type must be array, but is object [N004]");
  EXPECT_EQ(ErrorOf(R"([[]])"), "1:2: type must be object, but is array [N004]");
}

TEST(IoTransposesJson, Strictness) {
  EXPECT_EQ(ErrorOf(R"([{"input_name": "a", "reshape": [2.0], "transpose": [0]}])"),
            "1:34: 2.0 is not an integer of 64 bits [N004]");
  EXPECT_EQ(ErrorOf(R"([{"input_name": "a", "reshape": [-2], "transpose": [0]}])"),
            "1:34: -2 is negative [N004]");
  EXPECT_EQ(
      ErrorOf(R"([{"input_name": "a", "reshape": [99999999999999999999], "transpose": [0]}])"),
      "1:34: 99999999999999999999 is not an integer of 64 bits [N004]");
  EXPECT_EQ(ErrorOf(R"([{"input_name": "a", "reshape": [2, 3], "transpose": [0, 0]}])"),
            "1:54: [0, 0] is not a permutation of the 2 axes of reshape [2, 3] [N007]");
  EXPECT_EQ(
      ErrorOf(
          R"([{"input_name":"a","reshape":[2],"transpose":[0]},{"input_name":"a","reshape":[2],"transpose":[0]}])"),
      "1:51: [NCC_IIOT001] Duplicate io_transpose found for input: a [N005]");
  const Result<IoTransposes> extra =
      ParseIoTransposes(R"([{"input_name":"a","reshape":[2],"transpose":[0],"x":{}}])");
  ASSERT_TRUE(extra);
  ASSERT_EQ(extra->warnings.size(), 1u);
  EXPECT_EQ(extra->warnings[0].id, DiagId::kUnknownJsonKey);
}

TEST(Json, RefusesWhatIsNoJson) {
  for (std::string_view text : {"",          " ",           "[",           "]",
                                "[1,]",      "[,1]",        "{\"a\":1,}",  "{\"a\"}",
                                "{a:1}",     "[01]",        "[1.]",        "[1e]",
                                "[-]",       "[+1]",        "\"",          "\"\\x\"",
                                "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "[1] 2",
                                "tru",       "[1 2]",       "\"\n\"",      "{\"a\":1,\"a\":2}",
                                "nul",       "'a'",         "// c\n1"}) {
    const Result<JsonDocument> json = JsonDocument::Parse(text);
    ASSERT_FALSE(json) << text;
    EXPECT_EQ(json.error().diagnostics[0].id, DiagId::kBadJson) << text;
  }
  const Result<JsonDocument> bomb = JsonDocument::Parse(std::string(1000000, '['));
  ASSERT_FALSE(bomb);
  EXPECT_EQ(bomb.error().diagnostics[0].id, DiagId::kJsonTooLarge);
  std::string wide = "[0";
  for (int i = 0; i < (1 << 22); ++i) wide += ",0";
  const Result<JsonDocument> many = JsonDocument::Parse(wide + "]");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().diagnostics[0].id, DiagId::kJsonTooLarge);
}

TEST(Json, Strings) {
  const Result<JsonDocument> json =
      JsonDocument::Parse(R"({"k\n":"\"\\\/\b\f\n\r\t\u00e4\u20AC\ud83d\ude00"})");
  ASSERT_TRUE(json);
  const int32_t child = json->root().first;
  EXPECT_EQ(json->node(child).key, "k\n");
  EXPECT_EQ(json->node(child).text, "\"\\/\b\f\n\r\t\u00e4\u20ac\U0001F600");
  EXPECT_EQ(JsonQuote("a\"\\\n\x01"), "\"a\\\"\\\\\\u000a\\u0001\"");
}

TEST(Combine, DuplicateAndForbidden) {
  std::vector<IoTranspose> all = {{.input_name = "a"}};
  Status status = CombineIoTransposes(all, std::vector<IoTranspose>{{.input_name = "a"}}, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().diagnostics[0].message,
            "[NCC_IIOT001] Duplicate io_transpose found for input: a");
  status = CombineIoTransposes(all, std::vector<IoTranspose>{{.input_name = "edge"}}, {"edge"});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().diagnostics[0].message,
            "[NCC_IIOT002] Forbidden io_transpose found for input: edge");
  ASSERT_TRUE(CombineIoTransposes(all, std::vector<IoTranspose>{{.input_name = "b"}}, {"edge"}));
  EXPECT_EQ(all.size(), 2u);
}

IoTranspose Spec(Dims reshape, Dims transpose) {
  return {.input_name = "w", .reshape = std::move(reshape), .transpose = std::move(transpose)};
}

void ExpectFold(const Dims& shape, const Dims& reshape, const Dims& transpose,
                const Dims& new_reshape, const Dims& new_transpose) {
  const Result<IoTranspose> folded = SimplifyIoTranspose(Spec(reshape, transpose), shape);
  ASSERT_TRUE(folded) << FormatError(folded.error());
  EXPECT_EQ(folded->reshape, new_reshape);
  EXPECT_EQ(folded->transpose, new_transpose);
}

TEST(Simplify, ByHand) {
  ExpectFold({6144, 256}, {3, 16, 128, 2, 2, 64}, {0, 4, 5, 3, 1, 2}, {3, 2048, 2, 128},
             {0, 3, 2, 1});                          // the seed
  ExpectFold({24}, {4, 6}, {0, 1}, {24}, {0});       // consecutive in both orders: fold
  ExpectFold({24}, {4, 6}, {1, 0}, {4, 6}, {1, 0});  // consecutive only in the shape
  ExpectFold({24}, {2, 3, 4}, {0, 2, 1}, {2, 3, 4},
             {0, 2, 1});  // 0 and 2 are neighbours only in the permuted order
  ExpectFold({4, 6}, {4, 6}, {0, 1}, {4, 6}, {0, 1});  // across an original border: do not fold
  ExpectFold({4, 6}, {2, 2, 2, 3}, {0, 1, 2, 3}, {4, 6}, {0, 1});
  ExpectFold({4, 6}, {4, 1, 6}, {0, 1, 2}, {4, 6},
             {0, 1});  // a dimension of size 1 belongs to either side …
  ExpectFold({4, 6}, {4, 1, 6}, {1, 2, 0}, {4, 6}, {1, 0});  // … whichever lets it go
  ExpectFold({4, 1, 6}, {4, 1, 6}, {0, 1, 2}, {4, 1, 6},
             {0, 1, 2});  // unless it was an original one
  ExpectFold({4, 1, 6}, {4, 6}, {1, 0}, {4, 6}, {1, 0});
  ExpectFold({}, {}, {}, {}, {});
  ExpectFold({}, {1, 1}, {0, 1}, {1}, {0});
  ExpectFold({0, 5}, {0, 7, 3}, {0, 1, 2}, {0, 7, 3},
             {0, 1, 2});  // nothing to gain without elements
}

TEST(Simplify, Refusals) {
  Result<IoTranspose> result = SimplifyIoTranspose(Spec({5, 5}, {1, 0}), Dims{4, 6});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().diagnostics[0].message,
            "[NCC_IHNW003] Reshape size mismatch for input: w");
  // 8 x 3 cuts the 24 elements of 4 x 6 elsewhere: the border with 6 elements behind it lies inside
  // the 8.
  result = SimplifyIoTranspose(Spec({2, 4, 3}, {0, 1, 2}), Dims{4, 6});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().diagnostics[0].message,
            "Illegal static io reshape from [2, 4, 3] to [24]");
  EXPECT_EQ(result.error().diagnostics[0].id, DiagId::kIllegalIoReshape);
  result = SimplifyIoTranspose(Spec({int64_t{1} << 40, int64_t{1} << 40}, {1, 0}), Dims{4, 6});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().diagnostics[0].id, DiagId::kIoReshapeMismatch);
}

/// Where every element goes, according to the oracle of the permutation.
std::vector<uint32_t> Moved(const IoTranspose& spec, int64_t elements) {
  std::vector<uint32_t> input(static_cast<size_t>(elements)), output(input.size());
  std::iota(input.begin(), input.end(), 0u);
  EXPECT_TRUE(
      PermuteNaive({.dims = spec.reshape, .permutation = spec.transpose, .element_bits = 32},
                   input.data(), output.data()));
  return output;
}

/// The shortest spec by brute force: tries every set of merges of neighbours that respects the
/// guard, which is written down literally here: a merged group must be a part of one original
/// dimension (sizes of 1 may sit anywhere).
size_t ShortestByBruteForce(const IoTranspose& spec, const Dims& shape) {
  const size_t rank = spec.reshape.size();
  std::vector<size_t> position(rank);
  for (size_t i = 0; i < rank; ++i) position[static_cast<size_t>(spec.transpose[i])] = i;
  size_t best = rank;
  for (uint32_t set = 0; rank > 0 && set < (1u << (rank - 1)); ++set) {
    Dims merged = {spec.reshape[0]};
    bool good = true;
    for (size_t i = 0; i + 1 < rank; ++i) {
      if ((set >> i & 1) != 0) {
        good = good && position[i + 1] == position[i] + 1;
        merged.back() *= spec.reshape[i + 1];
      } else {
        merged.push_back(spec.reshape[i + 1]);
      }
    }
    // The merged dimensions must still be a refinement of the shape: walk both and match products.
    size_t at = 0;
    for (int64_t dim : shape) {
      int64_t product = 1;
      // The first factor always belongs to this dimension; more of them until the size is reached.
      if (at == merged.size()) {
        good = false;
        break;
      }
      do {
        product *= merged[at++];
      } while (product < dim && at < merged.size());
      good = good && product == dim;
    }
    while (at < merged.size() && merged[at] == 1) ++at;
    if (good && at == merged.size()) best = std::min(best, merged.size());
  }
  return best;
}

TEST(Simplify, PropertiesOfRandomSpecs) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    Dims shape, reshape;
    int64_t elements = 1;
    const size_t dims = 1 + random() % 3;
    for (size_t d = 0; d < dims; ++d) {
      int64_t size = 1;
      const size_t factors = 1 + random() % 3;
      for (size_t f = 0; f < factors; ++f) {
        reshape.push_back(2 + static_cast<int64_t>(random() % 3));
        size *= reshape.back();
      }
      shape.push_back(size);
      elements *= size;
    }
    Dims transpose(reshape.size());
    std::iota(transpose.begin(), transpose.end(), 0);
    // A few swaps only, so that many neighbours stay together.
    for (size_t swap = random() % 4; swap > 0; --swap) {
      std::rotate(transpose.begin(),
                  transpose.begin() + static_cast<int64_t>(random() % transpose.size()),
                  transpose.end());
      std::swap(transpose[random() % transpose.size()], transpose[random() % transpose.size()]);
    }
    const IoTranspose spec = Spec(reshape, transpose);
    const Result<IoTranspose> folded = SimplifyIoTranspose(spec, shape);
    ASSERT_TRUE(folded);
    ASSERT_EQ(Moved(*folded, elements), Moved(spec, elements)) << WriteIoTransposes({&spec, 1});
    ASSERT_LE(folded->reshape.size(), reshape.size());
    ASSERT_EQ(folded->reshape.size(), ShortestByBruteForce(spec, shape))
        << WriteIoTransposes({&spec, 1});
    const Result<IoTranspose> again = SimplifyIoTranspose(*folded, shape);
    ASSERT_TRUE(again);
    ASSERT_EQ(again->reshape, folded->reshape);
    ASSERT_EQ(again->transpose, folded->transpose);
  }
}

}  // namespace
}  // namespace hlokit
