// Are netlists read in all their forms, and do transposes reach the inputs of the model?
#include "src/neuron_ir/netlist.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "hlokit/file.h"
#include "src/neuron_ir/spec_files.h"

namespace hlokit {
namespace {

constexpr char kArray[] =
    R"({"PartMap": [{"id": 3, "PartIOs": {"Inputs": ["p0", "p1"], "IntermediateIOs": ["edge"]}}], "IntermediateIOs": ["edge"]})";

IoTranspose Spec(std::string name, std::vector<int64_t> reshape = {2, 3}) {
  return {.input_name = std::move(name), .reshape = std::move(reshape), .transpose = {1, 0}};
}

std::vector<std::string> Names(const std::vector<IoTranspose>& entries) {
  std::vector<std::string> names;
  for (const IoTranspose& entry : entries) names.push_back(entry.input_name);
  return names;
}

TEST(Netlist, ArrayOrObject) {
  Result<Netlist> netlist = ParseNetlist(kArray);
  ASSERT_TRUE(netlist.has_value());
  EXPECT_EQ(netlist->edges, std::set<std::string>{"edge"});
  ASSERT_EQ(netlist->partitions.size(), 1u);
  EXPECT_EQ(netlist->partitions[0].inputs, (std::vector<std::string>{"p0", "p1"}));
  netlist = ParseNetlist(
      R"({"PartMap": {"sg00": {"PartIOs": {"Inputs": {"l": "p0"}}}, "sg01": {"PartIOs": {}}}})");
  ASSERT_TRUE(netlist.has_value());
  ASSERT_EQ(netlist->partitions.size(), 2u);
  EXPECT_EQ(netlist->partitions[0].id, "sg00");
  EXPECT_EQ(netlist->partitions[0].aliases[0], std::make_pair(std::string("l"), std::string("p0")));
}

TEST(Netlist, Malformed) {
  struct Case {
    const char* text;
    DiagId id;
    const char* words;
  } cases[] = {
      {"", DiagId::kBadJson, ""},
      {"[]", DiagId::kWrongJsonType, "type must be object, but is array"},
      {"{}", DiagId::kMissingJsonKey, "PartMap not found in json"},
      {R"({"PartMap": 3})", DiagId::kWrongJsonType, "type must be array or object, but is number"},
      {R"({"PartMap": [{}]})", DiagId::kMissingJsonKey, "PartIOs not found in json"},
      {R"({"PartMap": [7]})", DiagId::kWrongJsonType, "type must be object"},
      {R"({"PartMap": [{"PartIOs": {"Inputs": [1]}}]})", DiagId::kWrongJsonType,
       "type must be string, but is number"},
      {R"({"PartMap": [{"PartIOs": {"Inputs": [["a"]]}}]})", DiagId::kWrongJsonType, "pair"},
      {R"({"PartMap": [{"PartIOs": {"Inputs": [["a", 1]]}}]})", DiagId::kWrongJsonType,
       "type must be string"},
      {R"({"PartMap": [], "IntermediateIOs": "edge"})", DiagId::kWrongJsonType,
       "type must be array"},
  };
  for (const Case& one : cases) {
    Result<Netlist> netlist = ParseNetlist(one.text);
    ASSERT_FALSE(netlist.has_value()) << one.text;
    EXPECT_EQ(netlist.error().diagnostics[0].id, one.id) << one.text;
    EXPECT_NE(netlist.error().diagnostics[0].message.find(one.words), std::string::npos)
        << FormatError(netlist.error());
    EXPECT_EQ(netlist.error().exit_code, ExitCode::kCannotParse);
  }
}

TEST(Aliases, OverSeveralSteps) {
  Netlist netlist{.partitions = {{.aliases = {{"a", "b"}}}, {.aliases = {{"b", "model"}}}}};
  std::vector<IoTranspose> entries = {Spec("a"), Spec("model"), Spec("other")};
  ASSERT_TRUE(PropagateThroughAliases(netlist, entries));
  EXPECT_EQ(Names(entries), (std::vector<std::string>{"model", "other"}));
}

TEST(Aliases, Refusals) {
  Netlist netlist{.partitions = {{.aliases = {{"a", "b"}, {"c", "d"}, {"d", "c"}, {"e", "edge"}}}},
                  .edges = {"edge"}};
  struct Case {
    std::vector<IoTranspose> entries;
    DiagId id;
    const char* words;
  } cases[] = {
      {{Spec("a"), Spec("b", {3, 2})},
       DiagId::kDuplicateIoTranspose,
       "[NCC_IIOT001] Duplicate io_transpose found for input: b"},
      {{Spec("c")}, DiagId::kDuplicateIoTranspose, "circle"},
      {{Spec("e")},
       DiagId::kForbiddenIoTranspose,
       "[NCC_IIOT002] Forbidden io_transpose found for input: edge"},
  };
  for (Case& one : cases) {
    Status status = PropagateThroughAliases(netlist, one.entries);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().diagnostics[0].id, one.id);
    EXPECT_NE(status.error().diagnostics[0].message.find(one.words), std::string::npos);
  }
  Netlist ambiguous{.partitions = {{.aliases = {{"a", "b"}}}, {.aliases = {{"a", "c"}}}}};
  std::vector<IoTranspose> none;
  EXPECT_FALSE(PropagateThroughAliases(ambiguous, none));
}

TEST(Aliases, Positions) {
  Partition partition{.inputs = {"p0", "p1"}};
  std::vector<IoTranspose> entries = {Spec("input1"),
                                      Spec("input2"),
                                      Spec("input"),
                                      Spec("input1x"),
                                      Spec("input99999999999999999999"),
                                      Spec("w")};
  ApplyPositions(partition, entries);
  EXPECT_EQ(Names(entries), (std::vector<std::string>{"p1", "input2", "input", "input1x",
                                                      "input99999999999999999999", "w"}));
}

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "hlokit_netlist_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    Write("a.json", R"([{"input_name": "p0", "reshape": [2, 3], "transpose": [1, 0]}])");
    Write("b.json", R"([{"input_name": "p1", "reshape": [2, 3], "transpose": [1, 0]}])");
    Write("edge.json", R"([{"input_name": "edge", "reshape": [2, 3], "transpose": [1, 0]}])");
    Write("netlist.json", kArray);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, std::string_view text) {
    ASSERT_TRUE(WriteFile(Path(name), text));
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  DiagId Refusal(const SpecFiles& source, const char* words) {
    std::string file;
    Result<CombinedSpecs> specs = LoadSpecs(source, &file);
    if (specs) {
      ADD_FAILURE() << "not refused";
      return DiagId::kInternalError;
    }
    EXPECT_NE(specs.error().diagnostics[0].message.find(words), std::string::npos)
        << FormatError(specs.error());
    return specs.error().diagnostics[0].id;
  }
  std::string folder_;
};

TEST_F(Files, Combined) {
  std::string file;
  Result<CombinedSpecs> specs = LoadSpecs(
      {.files = {Path("a.json"), Path("b.json")}, .netlist = Path("netlist.json")}, &file);
  ASSERT_TRUE(specs.has_value()) << FormatError(specs.error());
  EXPECT_EQ(Names(specs->entries), (std::vector<std::string>{"p0", "p1"}));
  specs = LoadSpecs({.files = {Path("a.json")}}, &file);
  ASSERT_TRUE(specs.has_value());
  EXPECT_EQ(file, Path("a.json"));
}

TEST_F(Files, Refusals) {
  EXPECT_EQ(Refusal({.files = {Path("a.json"), Path("b.json")}}, "[NCC_IHNW001]"),
            DiagId::kMissingNetlist);
  EXPECT_EQ(Refusal({.files = {Path("none.json")}}, "[NCC_IHNW002]"), DiagId::kCannotOpen);
  EXPECT_EQ(Refusal({.files = {folder_}}, "[NCC_IHNW002]"), DiagId::kCannotOpen);
  EXPECT_EQ(Refusal({.files = {Path("a.json"), Path("a.json")}, .netlist = Path("netlist.json")},
                    "[NCC_IIOT001]"),
            DiagId::kDuplicateIoTranspose);
  EXPECT_EQ(Refusal({.files = {Path("a.json"), Path("edge.json")}, .netlist = Path("netlist.json")},
                    "[NCC_IIOT002]"),
            DiagId::kForbiddenIoTranspose);
  EXPECT_EQ(Refusal({.files = {Path("a.json")}, .netlist = Path("none.json")}, ""),
            DiagId::kCannotOpen);
}

}  // namespace
}  // namespace hlokit
