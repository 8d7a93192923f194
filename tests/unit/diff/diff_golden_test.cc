// Properties of diff over all golden inputs.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "hlokit/diff.h"
#include "hlokit/file.h"
#include "hlokit/layout_assignment.h"
#include "hlokit/printer.h"
#include "hlokit/reader.h"

namespace hlokit {
namespace {

struct Input {
  std::string path;
  Module module;
};

/// Every golden input that can be read.
const std::vector<std::string>& Paths() {
  static const std::vector<std::string> kPaths = [] {
    std::vector<std::string> out;
    std::filesystem::path root =
        std::filesystem::path(HLOKIT_SOURCE_DIR) / "tests/golden/data/inputs";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() == ".hlo") out.push_back(entry.path().string());
    }
    std::sort(out.begin(), out.end());
    return out;
  }();
  return kPaths;
}

template <typename Visit>
size_t ForEachInput(Visit&& visit) {
  size_t count = 0;
  for (const std::string& path : Paths()) {
    Result<std::string> text = ReadFile(path);
    EXPECT_TRUE(text) << path;
    Result<Module> module = ReadText(std::move(*text));
    if (!module) continue;
    ++count;
    visit(path, *module);
  }
  EXPECT_GT(count, 250u);
  return count;
}

std::string Describe(const Module& a, const Module& b, const ModuleDiff& diff) {
  std::string out = fmt::format(
      "{} layouts, {} appeared, {} vanished, {} + {} plumbing, {} changed, {} added, {} removed, "
      "{} + {} "
      "computations, {} header\n",
      diff.layouts.size(), diff.appeared.size(), diff.vanished.size(), diff.plumbing_added.size(),
      diff.plumbing_removed.size(), diff.changed.size(), diff.added.size(), diff.removed.size(),
      diff.computations_added.size(), diff.computations_removed.size(), diff.header.size());
  for (size_t i = 0; i < std::min<size_t>(3, diff.changed.size()); ++i) {
    out += PrintInstruction(a, diff.changed[i].before) + "\n" +
           PrintInstruction(b, diff.changed[i].after) + "\n";
  }
  for (size_t i = 0; i < std::min<size_t>(3, diff.added.size()); ++i) {
    out += "added " + PrintInstruction(b, diff.added[i]) + "\n";
  }
  return out;
}

TEST(DiffGolden, NothingDiffersFromItself) {
  ForEachInput([](const std::string& path, const Module& module) {
    ModuleDiff diff = DiffModules(module, module);
    EXPECT_TRUE(diff.IsEmpty()) << path << Describe(module, module, diff);
    EXPECT_EQ(diff.matched_computations, module.computation_order().size()) << path;
  });
}

/// Other names for everything. `shift` = every instruction takes the name of the one that comes
/// `shift` places later, so that old names mean something else; 0 = names that were not there.
Module Renamed(const Module& module, uint32_t shift) {
  Module renamed = module;
  std::vector<StrRef> names;
  for (uint32_t i = 0; i < module.instruction_count(); ++i)
    names.push_back(module.name_ref(InstId(i)));
  for (uint32_t i = 0; i < module.instruction_count(); ++i) {
    StrRef name = shift == 0 ? renamed.text().Append(fmt::format("renamed.{}", i))
                             : names[(i + shift) % names.size()];
    renamed.set_name(InstId(i), name);
  }
  for (CompId computation : module.computation_order()) {
    renamed.computation(computation).name =
        renamed.text().Append(fmt::format("computation.{}", computation.value));
  }
  renamed.config().name = "renamed";
  return renamed;
}

TEST(DiffGolden, NamesDoNotCount) {
  ForEachInput([](const std::string& path, const Module& module) {
    for (uint32_t shift : {0u, 1u, 3u}) {
      Module renamed = Renamed(module, shift);
      ModuleDiff diff = DiffModules(module, renamed);
      EXPECT_TRUE(diff.IsEmpty()) << path << " shift " << shift << Describe(module, renamed, diff);
    }
  });
}

TEST(DiffGolden, NamesDoNotCountAfterReadingWhatWasPrinted) {
  ForEachInput([](const std::string& path, const Module& module) {
    Result<Module> again = ReadText(PrintModule(Renamed(module, 0), {.large_constants = true}));
    ASSERT_TRUE(again) << path;
    ModuleDiff diff = DiffModules(module, *again);
    EXPECT_TRUE(diff.IsEmpty()) << path << Describe(module, *again, diff);
  });
}

/// One changed instruction is found, and nothing else differs.
TEST(DiffGolden, OneChangeIsOneDifference) {
  size_t changes = 0;
  ForEachInput([&changes](const std::string& path, const Module& module) {
    for (uint32_t i = 0; i < module.instruction_count(); ++i) {
      if (module.opcode(InstId(i)) != Opcode::kNegate) continue;
      ++changes;
      Module changed = module;
      changed.set_opcode(InstId(i), Opcode::kAbs);
      ModuleDiff diff = DiffModules(module, changed);
      ASSERT_EQ(diff.changed.size(), 1u) << path << Describe(module, changed, diff);
      EXPECT_EQ(diff.changed[0].after, InstId(i)) << path;
      EXPECT_TRUE(diff.changed[0].opcode) << path;
      EXPECT_EQ(diff.added.size() + diff.removed.size() + diff.layouts.size(), 0u) << path;
    }
  });
  EXPECT_GT(changes, 100u);
}

/// Layout assignment tells which copies it made: diff must find those, no other, and no other
/// difference than layouts.
TEST(DiffGolden, LayoutAssignmentIsLayoutsAndCopies) {
  size_t assigned = 0, copies = 0;
  ForEachInput([&](const std::string& path, const Module& module) {
    Module after = module;
    Result<LayoutAssignmentReport> report = AssignLayouts(after, {});
    if (!report) return;
    ++assigned;
    ModuleDiff diff = DiffModules(module, after);
    std::multiset<std::string> expected, found;
    int64_t bytes = 0;
    for (const AddedArrayCopy& part : report->parts) {
      if (after.IsDead(part.copy)) continue;
      expected.emplace(after.name(part.copy));
      bytes += after.shapes().LogicalBytes(after.shape(part.copy));
    }
    for (const CopyChange& copy : diff.appeared) found.emplace(after.name(copy.copy));
    copies += found.size();
    EXPECT_EQ(found, expected) << path << Describe(module, after, diff);
    EXPECT_EQ(diff.appeared_bytes, bytes) << path;
    EXPECT_TRUE(diff.vanished.empty()) << path << Describe(module, after, diff);
    EXPECT_EQ(diff.changed.size() + diff.added.size() + diff.removed.size(), 0u)
        << path << Describe(module, after, diff);
    EXPECT_EQ(diff.computations_added.size(), report->clones.size()) << path;
    EXPECT_TRUE(diff.computations_removed.empty()) << path;
  });
  EXPECT_GT(assigned, 250u);
  EXPECT_GT(copies, 400u);
}

}  // namespace
}  // namespace hlokit
