// Which files does a pipeline leave behind, and what are they called?
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <system_error>

#include "fmt/format.h"
#include "hlokit/file.h"
#include "hlokit/pass_observers.h"

namespace hlokit {
namespace {

constexpr size_t kLongestName = 255;
constexpr size_t kLongestMatched = 1000;  // std::regex recurses over what it matches

Result<std::optional<std::regex>> Compile(const std::optional<std::string>& text) {
  if (!text) return std::optional<std::regex>();
  try {
    return std::optional<std::regex>(
        std::regex(*text, std::regex::ECMAScript | std::regex::optimize));
  } catch (const std::regex_error&) {
    return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                     fmt::format("\"{}\" is no regular expression", *text),
                     "quote brackets and other special characters with a backslash");
  }
}

bool Matches(const std::optional<std::regex>& regex, std::string_view text) {
  if (!regex) return false;
  text = text.substr(0, kLongestMatched);
  try {
    return std::regex_search(text.begin(), text.end(), *regex);
  } catch (const std::regex_error&) {
    return false;  // too complex for this text
  }
}

}  // namespace

struct DumpObserver::Patterns {
  std::optional<std::regex> pass, module, pipeline;
};

DumpObserver::DumpObserver(DumpOptions options)
    : options_(std::move(options)), patterns_(std::make_unique<Patterns>()) {}

DumpObserver::~DumpObserver() = default;

Result<std::unique_ptr<DumpObserver>> DumpObserver::Make(DumpOptions options) {
  std::unique_ptr<DumpObserver> observer(new DumpObserver(std::move(options)));
  ASSIGN_OR_RETURN(observer->patterns_->pass, Compile(observer->options_.pass_re));
  ASSIGN_OR_RETURN(observer->patterns_->module, Compile(observer->options_.module_re));
  ASSIGN_OR_RETURN(observer->patterns_->pipeline, Compile(observer->options_.pipeline_re));
  return observer;
}

std::string DumpObserver::FileName(int64_t module_id, std::string_view module,
                                   std::string_view suffix, std::string_view extension) {
  std::string name = fmt::format("module_{:04}.{}.{}.{}", module_id, module, suffix, extension);
  if (name.size() > kLongestName) {
    name = fmt::format("module_{:04}.{}.{}", module_id, suffix, extension);
  }
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == '/' || c == '\\' || c == '[' || c == ']' || c == ' '; }, '_');
  return name;
}

std::string DumpObserver::PipelineOf(const PipelineStep* step) const {
  return step == nullptr || step->pipeline.empty() ? pipeline_ : step->pipeline;
}

Status DumpObserver::Write(const Module& module, std::string_view suffix) {
  std::string name = FileName(module_id_, module.config().name, suffix, "txt");
  if (options_.timestamp) {
    auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    name = fmt::format(
        "{}.{}", std::chrono::microseconds(since_epoch / std::chrono::microseconds(1)).count(),
        name);
  }
  std::string text = PrintModule(module, options_.print);
  if (options_.directory == "-") {
    text = fmt::format("*** Begin {} ***\n{}*** End {} ***\n", name, text, name);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  std::error_code error;
  std::filesystem::create_directories(options_.directory, error);
  if (error) {
    return MakeError(
        ExitCode::kIo, DiagId::kCannotWrite,
        fmt::format("cannot make the folder {}: {}", options_.directory, error.message()),
        "give another folder with --dump-to");
  }
  return WriteFile((std::filesystem::path(options_.directory) / name).string(), text);
}

Status DumpObserver::Between(const Module& module, std::string_view pipeline,
                             std::string_view after, std::string_view before, bool changed) {
  if (!active_ || !patterns_->pass || (*options_.pass_re == ".*" && !changed)) return {};
  if (patterns_->pipeline && !Matches(patterns_->pipeline, pipeline)) return {};
  if (!Matches(patterns_->pass, after) && !Matches(patterns_->pass, before)) return {};
  return Write(module,
               fmt::format("{:04}.{}.after_{}.before_{}", step_++, pipeline, after, before));
}

Status DumpObserver::Start(const Module& module, const Pipeline& pipeline,
                           std::span<const PipelineStep* const> steps) {
  ++module_id_;
  step_ = 0;
  pipeline_ = pipeline.name;
  active_ = (!patterns_->module || Matches(patterns_->module, module.config().name)) &&
            (options_.max_modules < 0 || module_id_ < options_.max_modules);
  if (!active_) return {};
  TRY(Write(module, "before_optimization"));
  std::string_view first = steps.empty() ? std::string_view("pipeline-end") : steps[0]->pass->name;
  return Between(module, PipelineOf(steps.empty() ? nullptr : steps[0]), "pipeline-start", first,
                 true);
}

Status DumpObserver::After(const Module& module, const PipelineStep& step, const PipelineStep* next,
                           bool changed) {
  std::string_view before = next == nullptr || PipelineOf(next) != PipelineOf(&step)
                                ? std::string_view("pipeline-end")
                                : next->pass->name;
  return Between(module, PipelineOf(&step), step.pass->name, before, changed);
}

Status DumpObserver::End(const Module& module, bool) {
  return active_ ? Write(module, "after_optimization") : Status();
}

}  // namespace hlokit
