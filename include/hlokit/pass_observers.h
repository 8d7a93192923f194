#ifndef HLOKIT_PASS_OBSERVERS_H_
#define HLOKIT_PASS_OBSERVERS_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hlokit/pass.h"
#include "hlokit/printer.h"

namespace hlokit {

/// What to write while a pipeline runs; hlo-opt-cli.md section 7.
struct DumpOptions {
  std::string directory;               ///< "-" = standard output; empty = no dumps
  std::optional<std::string> pass_re;  ///< dumps between passes; ".*" = after changing passes only
  std::optional<std::string> module_re;    ///< which modules; unanchored
  std::optional<std::string> pipeline_re;  ///< which pipelines; unanchored
  int64_t max_modules = -1;
  bool timestamp = false;
  PrintOptions print;
};

/// Writes modules between passes under XLA's file names.
class DumpObserver : public PassObserver {
 public:
  /// Fails with kUsage (U001) on a regular expression that is none.
  static Result<std::unique_ptr<DumpObserver>> Make(DumpOptions options);
  ~DumpObserver() override;
  Status Start(const Module&, const Pipeline&, std::span<const PipelineStep* const> steps) override;
  Status After(const Module&, const PipelineStep&, const PipelineStep* next, bool changed) override;
  Status End(const Module&, bool changed) override;
  /// "module_0000.NAME.SUFFIX.txt" with unusual characters as _, at most 255 bytes.
  static std::string FileName(int64_t module_id, std::string_view module, std::string_view suffix,
                              std::string_view extension);

 private:
  struct Patterns;  // the compiled expressions
  explicit DumpObserver(DumpOptions options);
  Status Write(const Module& module, std::string_view suffix);
  Status Between(const Module& module, std::string_view pipeline, std::string_view after,
                 std::string_view before, bool changed);
  std::string PipelineOf(const PipelineStep* step) const;

  DumpOptions options_;
  std::unique_ptr<Patterns> patterns_;
  std::string pipeline_;
  int64_t module_id_ = -1;
  int64_t step_ = 0;
  bool active_ = false;
};

/// Prints modules around passes to standard error.
class PrintObserver : public PassObserver {
 public:
  struct Options {
    std::vector<std::string> before, after;  ///< names of passes; "all" = every one
    bool after_change = false;               ///< after each pass that changed something
    PrintOptions print;
    bool empty() const { return before.empty() && after.empty() && !after_change; }
  };
  explicit PrintObserver(Options options) : options_(std::move(options)) {}
  Status Before(const Module&, const PipelineStep&) override;
  Status After(const Module&, const PipelineStep&, const PipelineStep* next, bool changed) override;

 private:
  Options options_;
};

/// Wall-clock time per step, summed over modules.
class TimingObserver : public PassObserver {
 public:
  Status Before(const Module&, const PipelineStep&) override;
  Status After(const Module&, const PipelineStep&, const PipelineStep* next, bool changed) override;
  /// A table, slowest first.
  std::string Report() const;

 private:
  struct Row {
    double seconds = 0;
    int64_t runs = 0, changes = 0;
  };
  std::map<std::string, Row> rows_;
  std::chrono::steady_clock::time_point start_;
};

/// Sizes before and after each step.
class StatsObserver : public PassObserver {
 public:
  Status Before(const Module&, const PipelineStep&) override;
  Status After(const Module&, const PipelineStep&, const PipelineStep* next, bool changed) override;
  /// One line per step, and the opcodes whose number changed.
  std::string Report() const { return report_; }

 private:
  struct Counts {
    int64_t instructions = 0, computations = 0;
    std::map<std::string_view, int64_t> opcodes;
  };
  static Counts Count(const Module& module);
  Counts before_;
  std::string report_;
};

/// Writes the module in front of a failing pass, with the command that shows the failure. Needs
/// RunOptions::keep_before.
class ReproducerObserver : public PassObserver {
 public:
  explicit ReproducerObserver(std::string path) : path_(std::move(path)) {}
  void Failed(const Module* before, const PipelineStep&, const Error&) override;
  /// Did writing go wrong? Empty when not.
  const std::string& problem() const { return problem_; }
  bool written() const { return written_; }

 private:
  std::string path_, problem_;
  bool written_ = false;
};

}  // namespace hlokit

#endif  // HLOKIT_PASS_OBSERVERS_H_
