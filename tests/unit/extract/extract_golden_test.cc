// Does every instruction of every golden input extract into a module that reads and verifies?
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hlokit/extract.h"
#include "hlokit/file.h"
#include "hlokit/printer.h"
#include "hlokit/reader.h"
#include "hlokit/verifier.h"

namespace hlokit {
namespace {

std::vector<std::string> GoldenInputs() {
  std::vector<std::string> out;
  std::filesystem::path root =
      std::filesystem::path(HLOKIT_SOURCE_DIR) / "tests/golden/data/inputs";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".hlo") out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string Codes(const Module& module) {
  std::string out;
  for (const VerifierFinding& finding : FindProblems(module)) {
    if (finding.diagnostic.severity == Severity::kError)
      out += FormatDiagnostic(finding.diagnostic, "");
  }
  return out;
}

std::vector<std::string> SortedLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// What is wrong with the extract of one instruction; empty when nothing is.
std::string Problem(const Module& module, InstId id, uint32_t height) {
  Result<Module> extract = ExtractInstruction(module, id, {.height = height});
  if (!extract) return FormatError(extract.error());
  std::string text = PrintModule(*extract, {.large_constants = true});
  Result<Module> again = ReadText(text);
  if (!again) return FormatError(again.error()) + text;
  if (std::string codes = Codes(*again); !codes.empty()) return codes + text;
  // Computations may change places once (docs/reference/text-format.md), and reading drops stack
  // frames that nothing refers to. Otherwise lines do not change.
  const PrintOptions kComparable = {.large_constants = true, .metadata = false};
  if (SortedLines(PrintModule(*again, kComparable)) !=
      SortedLines(PrintModule(*extract, kComparable))) {
    return "changes when read\n" + text;
  }
  const ComputationData& entry = again->computation(again->entry());
  if (again->FindInstruction(module.name(id)) == InstId()) return "lacks the instruction\n" + text;
  // A parameter that holds tokens is made of parts.
  Opcode opcode = again->opcode(again->FindInstruction(module.name(id)));
  bool same = opcode == module.opcode(id) || module.opcode(id) == Opcode::kParameter;
  if (!same) return "holds something else\n" + text;
  if (again->shape(entry.root) == ShapeId()) return "no root\n" + text;
  return "";
}

TEST(ExtractGolden, EveryInstruction) {
  size_t modules = 0, instructions = 0, refused = 0;
  for (const std::string& path : GoldenInputs()) {
    Result<std::string> text = ReadFile(path);
    ASSERT_TRUE(text);
    Result<Module> module = ReadText(std::move(*text));
    // A module that is not sound itself has no sound parts to promise.
    if (!module || !Codes(*module).empty()) continue;
    ++modules;
    for (CompId computation : module->computation_order()) {
      for (InstId id : module->computation(computation).instructions) {
        for (uint32_t height : {0u, 2u, ExtractOptions::kAllTheWay}) {
          ++instructions;
          std::string problem = Problem(*module, id, height);
          if (problem.find("starts what another computation ends") != std::string::npos) {
            ++refused;
            continue;
          }
          ASSERT_EQ(problem, "") << path << " %" << module->name(id) << " height " << height;
        }
      }
    }
  }
  RecordProperty("extracts", static_cast<int>(instructions));
  RecordProperty("refused", static_cast<int>(refused));
  EXPECT_GT(modules, 250u);
  EXPECT_LT(refused * 100, instructions) << "only starts inside async computations are refused";
}

}  // namespace
}  // namespace hlokit
