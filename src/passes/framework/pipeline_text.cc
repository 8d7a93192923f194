// Which passes does a text like "a,b{opt=1 x=y}" name?
#include "fmt/format.h"
#include "hlokit/pass.h"

namespace hlokit {
namespace {

std::unexpected<Error> Malformed(std::string_view text, size_t at, std::string_view what) {
  std::string_view before = text.substr(0, at);
  if (before.size() > 40) before.remove_prefix(before.size() - 40);
  return MakeError(
      ExitCode::kUsage, DiagId::kBadPipelineText,
      fmt::format("{} at character {} of the pipeline, after \"{}\"", what, at + 1, before),
      "write it as name,name{option=value option=value}");
}

/// Position of the first character of `stops` that is outside brackets and quotes, or the end. Sets
/// `balanced` to whether all brackets and quotes before it are closed.
size_t ScanTo(std::string_view text, size_t at, std::string_view stops, bool* balanced) {
  std::string open;
  *balanced = true;
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (c == '"') {
      at = text.find('"', at + 1);
      if (at == text.npos) break;
      continue;
    }
    if (open.empty() && stops.find(c) != stops.npos) return at;
    if (c == '{' || c == '(' || c == '[') {
      open += c;
    } else if (c == '}' || c == ')' || c == ']') {
      char expected = c == '}' ? '{' : c == ')' ? '(' : '[';
      if (open.empty() || open.back() != expected) break;
      open.pop_back();
    }
  }
  if (at >= text.size() && at != text.npos && open.empty()) return text.size();
  *balanced = false;
  return std::min(at, text.size());
}

/// Splits "a=1 b=\"x y\" c" and sets the options. `offset` is where `body` starts in `text`.
Status SetOptions(std::string_view text, size_t offset, std::string_view body,
                  const RegisteredPass& pass, PassOptions* options) {
  for (size_t at = 0; at < body.size();) {
    if (body[at] == ' ') {
      ++at;
      continue;
    }
    bool balanced = true;
    size_t end = ScanTo(body, at, " ", &balanced);
    if (!balanced) return Malformed(text, offset + end, "a bracket or quote without its partner");
    std::string_view item = body.substr(at, end - at);
    size_t equal = item.find('=');
    std::string_view name = item.substr(0, equal);
    std::string_view value = equal == item.npos ? std::string_view() : item.substr(equal + 1);
    if (name.empty()) return Malformed(text, offset + at, "an option without a name");
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    } else if (equal != item.npos && value.empty()) {
      return Malformed(text, offset + end, "an option without a value");
    }
    TRY(options->Set(pass.name, name, value));
    at = end;
  }
  return {};
}

std::unexpected<Error> UnknownPass(std::string_view name) {
  if (int number = NeuronPassNumber(name)) {
    return MakeError(
        ExitCode::kUnsupported, DiagId::kPassNotImplemented,
        fmt::format("Pass {} is known (number {} of the Neuron tool) but not implemented.", name,
                    number),
        "--list-passes shows what runs here");
  }
  std::string help = "--list-passes shows all names";
  if (name.find(' ') != name.npos) {
    help = "blanks around commas are part of the name: leave them out";
  } else if (std::string near = NearestPassName(name); !near.empty()) {
    help = fmt::format("did you mean {}?", near);
  }
  return MakeError(ExitCode::kUsage, DiagId::kUnknownPass, fmt::format("Pass {} not found.", name),
                   help);
}

/// Adds the steps of a registered pipeline; their text is ours, so it parses.
Status Expand(const PipelineInfo& info, Pipeline* pipeline) {
  ASSIGN_OR_RETURN(Pipeline inner, ParsePipeline(info.passes));
  for (PipelineStep& step : inner.steps) {
    step.pipeline = info.name;
    pipeline->steps.push_back(std::move(step));
  }
  return {};
}

Status AddSegment(std::string_view text, size_t begin, size_t end, Pipeline* pipeline) {
  std::string_view segment = text.substr(begin, end - begin);
  size_t brace = segment.find('{');
  std::string_view name = segment.substr(0, brace);
  const RegisteredPass* pass = FindPass(name);
  const PipelineInfo* info = pass == nullptr ? FindPipeline(name) : nullptr;
  if (pass == nullptr && info == nullptr) return UnknownPass(name);
  std::string_view body;
  if (brace != segment.npos) {
    if (segment.back() != '}') return Malformed(text, end, "text behind the options of a pass");
    body = segment.substr(brace + 1, segment.size() - brace - 2);
  }
  if (info != nullptr) {
    if (!body.empty())
      return Malformed(text, begin + brace, "options behind the name of a pipeline");
    return Expand(*info, pipeline);
  }
  PipelineStep step{pass, PassOptions(pass->info->options), ""};
  TRY(SetOptions(text, begin + name.size() + 1, body, *pass, &step.options));
  pipeline->steps.push_back(std::move(step));
  return {};
}

}  // namespace

Result<Pipeline> ParsePipeline(std::string_view text) {
  Pipeline pipeline;
  for (size_t begin = 0;; ++begin) {
    bool balanced = true;
    size_t end = ScanTo(text, begin, ",", &balanced);
    if (!balanced) return Malformed(text, end, "a bracket or quote without its partner");
    TRY(AddSegment(text, begin, end, &pipeline));
    if (end == text.size()) return pipeline;
    begin = end;
  }
}

std::string Pipeline::ToText() const {
  std::string out;
  for (const PipelineStep& step : steps) {
    if (!out.empty()) out += ',';
    out += step.pass->name + step.options.ToText();
  }
  return out;
}

}  // namespace hlokit
