// Are the names of dump files understood, and files grouped by module in the order of the
// compilation?
#include <gtest/gtest.h>

#include "hlokit/input.h"

namespace hlokit {
namespace {

struct Name {
  const char* file;
  const char* timestamp;
  int64_t id;
  const char* name;
  const char* stage;
  int64_t step;
  const char* extension;
  StageKind kind;
};

class DumpNames : public testing::TestWithParam<Name> {};
TEST_P(DumpNames, HasItsParts) {
  std::optional<DumpName> name = ParseDumpName(GetParam().file);
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->timestamp, GetParam().timestamp);
  EXPECT_EQ(name->id, GetParam().id);
  EXPECT_EQ(name->name, GetParam().name);
  EXPECT_EQ(name->file.stage, GetParam().stage);
  EXPECT_EQ(name->file.step, GetParam().step);
  EXPECT_EQ(name->file.extension, GetParam().extension);
  EXPECT_EQ(name->file.kind, GetParam().kind);
}

INSTANTIATE_TEST_SUITE_P(
    Files, DumpNames,
    testing::Values(
        Name{"module_0000.m.before_optimizations.txt", "", 0, "m", "before_optimizations", -1,
             "txt", StageKind::kBefore},
        Name{"module_12345.jit_f.1.2.before_optimizations.hlo.pb.gz", "", 12345, "jit_f.1.2",
             "before_optimizations", -1, "hlo.pb.gz", StageKind::kBefore},
        Name{"1700000000000000.module_0003.m.sm_8.0_gpu_after_optimizations.txt",
             "1700000000000000", 3, "m", "sm_8.0_gpu_after_optimizations", -1, "txt",
             StageKind::kAfter},
        Name{"module_0003.m.sm_9.0a_gpu_after_optimizations.hlo.pb", "", 3, "m",
             "sm_9.0a_gpu_after_optimizations", -1, "hlo.pb", StageKind::kAfter},
        Name{"module_0003.m.v2.gfx90a_gpu_after_optimizations.txt", "", 3, "m.v2",
             "gfx90a_gpu_after_optimizations", -1, "txt", StageKind::kAfter},
        Name{"module_0003.m._gpu_after_optimizations.txt", "", 3, "m", "_gpu_after_optimizations",
             -1, "txt", StageKind::kAfter},
        Name{"module_0003.m.cpu_after_optimizations.txt", "", 3, "m", "cpu_after_optimizations", -1,
             "txt", StageKind::kAfter},
        Name{"module_0003.m.after_optimizations_before_buffer_assignment.txt", "", 3, "m",
             "after_optimizations_before_buffer_assignment", -1, "txt", StageKind::kAfter},
        Name{"module_0003.before_optimizations.txt", "", 3, "", "before_optimizations", -1, "txt",
             StageKind::kBefore},
        Name{"module_0003.m.cl_123.before_optimizations.txt", "", 3, "m", "before_optimizations",
             -1, "txt", StageKind::kBefore},
        Name{"module_0003.m.0012.simplification.after_dce.before_cse.txt", "", 3, "m", "after_dce",
             12, "txt", StageKind::kStep},
        Name{"module_0003.m.1234.0012.pipe_line.after_a-b.before_pipeline-end.txt", "", 3, "m.1234",
             "after_a-b", 12, "txt", StageKind::kStep},
        Name{"module_0003.m.0012.copy-insertion.after_adding_copies_to_resolve_interference.txt",
             "", 3, "m", "copy-insertion.after_adding_copies_to_resolve_interference", 12, "txt",
             StageKind::kStep},
        Name{"module_0003.m.new_kind_of_stage.txt", "", 3, "m", "new_kind_of_stage", -1, "txt",
             StageKind::kAfter},
        Name{"module_0003.m.cpu_after_optimizations-buffer-assignment.txt", "", 3, "m",
             "cpu_after_optimizations-buffer-assignment", -1, "txt", StageKind::kOther},
        Name{"module_0003.m.before_optimizations.dot", "", 3, "m", "before_optimizations", -1,
             "dot", StageKind::kOther}));

TEST(DumpNames, OthersAreNone) {
  for (const char* name :
       {"graph.hlo", "module_01.m.txt", "module_0001", "module_x.m.txt", "", "notes.txt"}) {
    EXPECT_FALSE(ParseDumpName(name).has_value()) << name;
  }
}

TEST(DumpFolder, GroupsAndOrders) {
  DumpFolder folder = GroupDumpFiles({
      {"module_0001.f.0010.p.after_b.before_c.txt", 3},
      {"module_0001.f.0002.p.after_a.before_b.txt", 2},
      {"module_0001.f.cpu_after_optimizations.txt", 5},
      {"module_0001.f.before_optimizations.txt", 1},
      {"module_0001.f.debug_options", 9},
      {"module_0001.f.thunk_sequence.txt", 9},
      {"module_0001.f.ir-no-opt.ll", 9},
      {"module_0001.g.before_optimizations.txt", 7},
      {"sub/module_0001.f.before_optimizations.txt", 1},
      {"readme.md", 1},
      {"graph.hlo", 1},
  });
  ASSERT_EQ(folder.modules.size(), 4u);
  EXPECT_EQ(folder.modules[0].name, "graph");
  EXPECT_EQ(folder.modules[1].name, "f");
  EXPECT_EQ(folder.modules[2].name, "g");
  EXPECT_EQ(folder.modules[3].subfolder, "sub");
  std::vector<std::string> stages;
  for (const DumpFile& file : folder.modules[1].files) {
    if (file.HoldsModule()) stages.push_back(file.stage);
  }
  EXPECT_EQ(stages, (std::vector<std::string>{"before_optimizations", "after_a", "after_b",
                                              "cpu_after_optimizations"}));
  EXPECT_EQ(folder.modules[1].files.size(), 7u);
}

}  // namespace
}  // namespace hlokit
