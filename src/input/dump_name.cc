// What does the name of a dump file say? (docs/reference/dump-folders.md)
#include <algorithm>
#include <charconv>

#include "hlokit/input.h"

namespace hlokit {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

size_t Digits(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && IsDigit(text[n])) ++n;
  return n;
}

int64_t Number(std::string_view digits) {
  int64_t value = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// Longest first, where one ends with another.
constexpr std::string_view kModuleExtensions[] = {".hlo.pb.gz", ".hlo.pb", ".pbtxt.gz", ".pbtxt",
                                                  ".txt.gz",    ".hlo.gz", ".pb.gz",    ".pb",
                                                  ".txt",       ".hlo"};
/// Files that stand beside dumps under the same stem and hold something else.
constexpr std::string_view kOtherExtensions[] = {".top_level.html",
                                                 ".html",
                                                 ".dot",
                                                 ".url",
                                                 ".riegeli",
                                                 ".fdo_profile",
                                                 ".debug_options",
                                                 ".config.pbtxt",
                                                 ".metadata.textproto",
                                                 ".gpu_target_config.pbtxt",
                                                 ".autotune_results.pbtxt",
                                                 ".thunk_sequence.txt",
                                                 ".ir-no-opt.ll",
                                                 ".ir-with-opt.ll",
                                                 ".ptx",
                                                 ".cubin",
                                                 ".o"};
constexpr std::string_view kReports[] = {"-buffer-assignment", "-buffer-assignment-values",
                                         "-live-range", "-memory-usage-report"};

struct KnownStage {
  std::string_view name;
  StageKind kind;
};
/// Longest first, where one ends with another.
constexpr KnownStage kStages[] = {
    {"after_optimizations_before_buffer_assignment", StageKind::kAfter},
    {"cpu_after_optimizations", StageKind::kAfter},
    {"after_optimizations", StageKind::kAfter},
    {"after_optimization", StageKind::kAfter},
    {"before_optimizations", StageKind::kBefore},
    {"before_optimization", StageKind::kBefore},
    {"after_spmd_partitioner", StageKind::kAfter},
    {"before_config_assignment", StageKind::kAfter},
};

/// Length of "sm_8.0", "sm_9.0a" or "gfx90a" at the end of the text; 0 when there is none.
size_t DeviceLength(std::string_view text) {
  size_t sm = text.rfind("sm_");
  if (sm != std::string_view::npos && (sm == 0 || text[sm - 1] == '.')) {
    std::string_view rest = text.substr(sm + 3);
    size_t major = Digits(rest);
    if (major != 0 && rest.substr(major).starts_with(".")) {
      size_t minor = Digits(rest.substr(major + 1));
      std::string_view tail = rest.substr(major + 1 + minor);
      if (minor != 0 && (tail.empty() || (tail.size() == 1 && tail[0] >= 'a' && tail[0] <= 'z'))) {
        return text.size() - sm;
      }
    }
  }
  size_t gfx = text.rfind("gfx");
  if (gfx != std::string_view::npos && (gfx == 0 || text[gfx - 1] == '.') &&
      text.find('.', gfx) == std::string_view::npos) {
    return text.size() - gfx;
  }
  return 0;
}

/// Splits "NAME.STAGE" at a known whole-module stage. False when it ends with none.
bool SplitKnownStage(std::string_view stem, DumpName* out) {
  constexpr std::string_view kGpu = "_gpu_after_optimizations";
  if (stem.ends_with(kGpu)) {
    std::string_view front = stem.substr(0, stem.size() - kGpu.size());
    size_t device = DeviceLength(front);
    size_t length = device + kGpu.size();
    bool separate = length == stem.size() || stem[stem.size() - length - 1] == '.';
    if (separate) {
      out->file.stage = std::string(stem.substr(stem.size() - length));
      out->file.kind = StageKind::kAfter;
      stem.remove_suffix(std::min(stem.size(), length + 1));
      out->name = std::string(stem);
      return true;
    }
  }
  for (const KnownStage& known : kStages) {
    if (!stem.ends_with(known.name)) continue;
    std::string_view front = stem.substr(0, stem.size() - known.name.size());
    if (!front.empty() && !front.ends_with(".")) continue;
    if (!front.empty()) front.remove_suffix(1);
    out->file.stage = std::string(known.name);
    out->file.kind = known.kind;
    out->name = std::string(front);
    return true;
  }
  return false;
}

/// Splits "NAME.0012.PIPELINE.after_PASS.before_NEXT" or "NAME.0012.PASS.STEP".
bool SplitStep(std::string_view stem, DumpName* out) {
  // The last group of four or more digits between dots; the name itself may hold such groups too.
  size_t found = std::string_view::npos;
  size_t length = 0;
  for (size_t dot = 0; dot != std::string_view::npos; dot = stem.find('.', dot + 1)) {
    size_t begin = dot == 0 && !stem.starts_with(".") ? 0 : dot + 1;
    size_t digits = Digits(stem.substr(begin));
    bool separate = digits >= 4 && stem.substr(begin + digits).starts_with(".");
    if (separate && begin + digits + 1 < stem.size()) {
      found = begin;
      length = digits;
    }
  }
  if (found == std::string_view::npos) return false;
  std::string_view rest = stem.substr(found + length + 1);
  DumpFile& file = out->file;
  file.kind = StageKind::kStep;
  file.step = Number(stem.substr(found, length));
  out->name = std::string(found == 0 ? std::string_view() : stem.substr(0, found - 1));
  size_t after = rest.find(".after_");
  size_t before = rest.rfind(".before_");
  if (after != std::string_view::npos && before != std::string_view::npos && before > after) {
    file.pipeline = std::string(rest.substr(0, after));
    file.pass = std::string(rest.substr(after + 7, before - after - 7));
    file.next_pass = std::string(rest.substr(before + 8));
    file.stage = "after_" + file.pass;
    return true;
  }
  size_t dot = rest.find('.');
  if (dot == std::string_view::npos) return false;
  file.pass = std::string(rest.substr(0, dot));
  file.stage = std::string(rest);
  return true;
}

/// Takes the extension off; what is left is the stem with module name and stage.
void SplitExtension(std::string_view* stem, DumpFile* file) {
  for (std::string_view extension : kOtherExtensions) {
    if (!stem->ends_with(extension)) continue;
    stem->remove_suffix(extension.size());
    file->extension = std::string(extension.substr(1));
    file->kind = StageKind::kOther;
    return;
  }
  for (std::string_view extension : kModuleExtensions) {
    if (!stem->ends_with(extension)) continue;
    stem->remove_suffix(extension.size());
    file->extension = std::string(extension.substr(1));
    return;
  }
  size_t dot = stem->rfind('.');
  if (dot == std::string_view::npos) return;
  file->extension = std::string(stem->substr(dot + 1));
  stem->remove_suffix(stem->size() - dot);
}

bool IsOther(std::string_view extension) {
  for (std::string_view known : kModuleExtensions) {
    if (known.substr(1) == extension) return false;
  }
  return true;
}

}  // namespace

bool DumpFile::HoldsModule() const { return kind != StageKind::kOther; }

std::optional<DumpName> ParseDumpName(std::string_view file_name) {
  DumpName out;
  out.file.path = std::string(file_name);
  std::string_view rest = file_name;
  if (size_t digits = Digits(rest); digits >= 6 && rest.substr(digits).starts_with(".module_")) {
    out.timestamp = std::string(rest.substr(0, digits));
    rest.remove_prefix(digits + 1);
  }
  if (!rest.starts_with("module_")) return std::nullopt;
  rest.remove_prefix(7);
  size_t digits = Digits(rest);
  if (digits < 4 || digits > 18 || digits == rest.size() || rest[digits] != '.')
    return std::nullopt;
  out.id = Number(rest.substr(0, digits));
  rest.remove_prefix(digits);  // ".NAME.STAGE.EXTENSION" or ".STAGE.EXTENSION"
  SplitExtension(&rest, &out.file);
  if (rest.starts_with(".")) rest.remove_prefix(1);
  std::string report;
  for (std::string_view suffix : kReports) {
    if (!rest.ends_with(suffix)) continue;
    report = std::string(suffix);
    rest.remove_suffix(suffix.size());
    break;
  }
  bool other = IsOther(out.file.extension) || !report.empty();
  if (!SplitKnownStage(rest, &out) && !SplitStep(rest, &out)) {
    out.file.stage = std::string(rest);
    out.file.kind = StageKind::kOther;
    if (!other && !rest.empty()) {
      // An unknown whole-module stage: its last word, behind the name of the module.
      size_t dot = rest.rfind('.');
      out.name =
          std::string(dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot));
      out.file.stage = std::string(dot == std::string_view::npos ? rest : rest.substr(dot + 1));
      out.file.kind = StageKind::kAfter;
    }
  }
  out.file.stage += report;
  if (other) out.file.kind = StageKind::kOther;
  // Builds inside the vendor add ".cl_N" behind the name.
  if (size_t cl = out.name.rfind(".cl_");
      cl != std::string::npos &&
      Digits(std::string_view(out.name).substr(cl + 4)) == out.name.size() - cl - 4 &&
      cl + 4 < out.name.size()) {
    out.name.resize(cl);
  }
  return out;
}

}  // namespace hlokit
