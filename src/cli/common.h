#ifndef HLOKIT_SRC_CLI_COMMON_H_
#define HLOKIT_SRC_CLI_COMMON_H_

#include <span>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "hlokit/layout_assignment.h"
#include "hlokit/module.h"
#include "hlokit/reader.h"
#include "hlokit/result.h"
#include "nlohmann/json_fwd.hpp"
#include "src/cli/backend_options.h"

namespace hlokit::cli {

/// Options of every command that reads a module.
struct InputOptions {
  std::string path;
  std::string format = "auto";
  bool strict = false;
  bool fill_missing_layouts = true;

  void Register(CLI::App& app);
};

/// Options of layout assignment, with the rules that they point to.
struct PreparedAssignment {
  Device device;
  std::unique_ptr<LayoutRules> rules;
  LayoutAssignmentOptions options;
};

/// Options of every command that assigns layouts.
struct AssignOptions {
  BackendOptions backend;
  std::string entry_layouts;
  CLI::Option* entry_layouts_option = nullptr;
  std::vector<std::string> unpin;
  std::vector<std::string> pin;
  bool unpin_result = false;
  bool reverse = false;
  bool no_channel_table = false;
  bool row_reduction = false;

  void Register(CLI::App& app);
  /// Also true for --entry-layouts '', which is no layout.
  bool entry_layouts_given() const {
    return entry_layouts_option != nullptr && entry_layouts_option->count() != 0;
  }
  /// The entry layout that these options ask for: that of the module with the changes applied.
  Result<ComputationLayout> EntryLayout(Module& module) const;
  /// What a device file warns about goes to standard error unless `quiet`.
  Result<PreparedAssignment> Build(Module& module, bool quiet = false) const;
};

enum class Format { kText, kJson };
/// Adds --format text|json.
void RegisterFormat(CLI::App& app, Format* format);

/// Opens the input, prints its warnings, and reads it.
Result<Module> Load(const InputOptions& options, bool quiet = false);

/// Prints the diagnostics of an error to standard error and returns the exit code for it.
int Report(const Error& error, const std::string& file);

/// Writes to standard output (or a file); on failure prints the diagnostic.
int Emit(std::string_view text, const std::string& path = "-");
/// The document with two blanks of indentation and a line break.
int EmitJson(const nlohmann::ordered_json& document);

/// "1.5 MiB", "12 B": three significant digits at most.
std::string HumanBytes(int64_t bytes);
/// A table with aligned columns; numbers right, text left (`align` holds 'l' or 'r' per column).
std::string Table(const std::vector<std::vector<std::string>>& rows, std::string_view align);

/// The candidate that `word` was probably meant to be; empty when none is near.
std::string NearestWord(std::string_view word, std::span<const std::string> candidates);

/// The instruction that a user named (with or without %), or an error with the nearest name.
Result<InstId> FindInstruction(const Module& module, const std::string& name);

void RegisterFmt(CLI::App& app, int& exit_code);
void RegisterStats(CLI::App& app, int& exit_code);
void RegisterAssign(CLI::App& app, int& exit_code);
void RegisterTrace(CLI::App& app, int& exit_code);
void RegisterExplain(CLI::App& app, int& exit_code);
void RegisterWhy(CLI::App& app, int& exit_code);
void RegisterDevices(CLI::App& app, int& exit_code);
void RegisterExtract(CLI::App& app, int& exit_code);
void RegisterDiff(CLI::App& app, int& exit_code);
void RegisterCopies(CLI::App& app, int& exit_code);
void RegisterReduce(CLI::App& app, int& exit_code);

}  // namespace hlokit::cli

#endif  // HLOKIT_SRC_CLI_COMMON_H_
