// What does io_transposes.json say? Strict reader and writer, and the rule that joins the files of
// several subgraphs.

#include "hlokit/io_transposes.h"

#include <algorithm>

#include "fmt/format.h"
#include "src/base/json.h"

namespace hlokit {
namespace {

constexpr const char* kShapeHelp =
    "the file is an array of {\"input_name\": \"p0\", \"reshape\": [3, 2048, 2, 128], "
    "\"transpose\": [0, 3, 2, 1]}";

Status WrongType(const JsonDocument& json, int32_t node, std::string_view wanted) {
  return json.Fail(
      DiagId::kWrongJsonType, node,
      fmt::format("type must be {}, but is {}", wanted, JsonKindName(json.node(node).kind)),
      kShapeHelp);
}

Result<std::vector<int64_t>> Numbers(const JsonDocument& json, int32_t list) {
  if (json.node(list).kind != JsonKind::kArray) {
    TRY(WrongType(json, list, "array"));
  }
  std::vector<int64_t> values;
  for (int32_t item = json.node(list).first; item >= 0; item = json.node(item).next) {
    const JsonNode& node = json.node(item);
    if (node.kind == JsonKind::kFloat) {
      return json.Fail(DiagId::kWrongJsonType, item,
                       fmt::format("{} is not an integer of 64 bits", node.text));
    }
    if (node.kind != JsonKind::kInteger) {
      TRY(WrongType(json, item, "number"));
    }
    if (node.integer < 0) {
      return json.Fail(DiagId::kWrongJsonType, item, fmt::format("{} is negative", node.integer),
                       "sizes and axes count from 0");
    }
    values.push_back(node.integer);
  }
  return values;
}

Status CheckTranspose(const JsonDocument& json, int32_t at, const IoTranspose& entry) {
  std::vector<int64_t> sorted = entry.transpose;
  std::sort(sorted.begin(), sorted.end());
  bool good = sorted.size() == entry.reshape.size();
  for (size_t i = 0; good && i < sorted.size(); ++i) good = sorted[i] == static_cast<int64_t>(i);
  if (good) return {};
  return json.Fail(
      DiagId::kBadIoTranspose, at,
      fmt::format("{} is not a permutation of the {} axes of reshape {}", JsonList(entry.transpose),
                  entry.reshape.size(), JsonList(entry.reshape)));
}

Result<IoTranspose> ParseEntry(const JsonDocument& json, int32_t object,
                               std::vector<Diagnostic>& warnings) {
  if (json.node(object).kind != JsonKind::kObject) {
    TRY(WrongType(json, object, "object"));
  }
  int32_t found[3];
  constexpr std::string_view kKeys[] = {"input_name", "reshape", "transpose"};
  for (int i = 0; i < 3; ++i) {
    found[i] = json.Find(object, kKeys[i]);
    if (found[i] < 0) {
      return json.Fail(DiagId::kMissingJsonKey, object,
                       fmt::format("{} not found in json", kKeys[i]), kShapeHelp);
    }
  }
  for (int32_t child = json.node(object).first; child >= 0; child = json.node(child).next) {
    if (std::find(std::begin(kKeys), std::end(kKeys), json.node(child).key) != std::end(kKeys))
      continue;
    warnings.push_back(json.At(DiagId::kUnknownJsonKey, Severity::kWarning, child,
                               fmt::format("the key {} is ignored and will not be written back",
                                           JsonQuote(json.node(child).key))));
  }
  if (json.node(found[0]).kind != JsonKind::kString) {
    TRY(WrongType(json, found[0], "string"));
  }
  IoTranspose entry;
  entry.input_name = json.node(found[0]).text;
  entry.location = json.LocationOf(json.node(object).offset);
  ASSIGN_OR_RETURN(entry.reshape, Numbers(json, found[1]));
  ASSIGN_OR_RETURN(entry.transpose, Numbers(json, found[2]));
  TRY(CheckTranspose(json, found[2], entry));
  return entry;
}

}  // namespace

Result<IoTransposes> ParseIoTransposes(std::string_view text) {
  ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::Parse(text));
  if (json.root().kind != JsonKind::kArray) {
    TRY(WrongType(json, 0, "array"));
  }
  IoTransposes result;
  std::set<std::string> names;
  for (int32_t item = json.root().first; item >= 0; item = json.node(item).next) {
    ASSIGN_OR_RETURN(IoTranspose entry, ParseEntry(json, item, result.warnings));
    if (!names.insert(entry.input_name).second) {
      return json.Fail(
          DiagId::kDuplicateIoTranspose, item,
          fmt::format("[NCC_IIOT001] Duplicate io_transpose found for input: {}", entry.input_name),
          "keep one entry per input");
    }
    result.entries.push_back(std::move(entry));
  }
  return result;
}

std::string WriteIoTransposes(std::span<const IoTranspose> entries) {
  if (entries.empty()) return "[]\n";
  std::string out = "[\n";
  for (size_t i = 0; i < entries.size(); ++i) {
    out += fmt::format("  {{\"input_name\": {}, \"reshape\": {}, \"transpose\": {}}}{}\n",
                       JsonQuote(entries[i].input_name), JsonList(entries[i].reshape),
                       JsonList(entries[i].transpose), i + 1 < entries.size() ? "," : "");
  }
  return out + "]\n";
}

Status CombineIoTransposes(std::vector<IoTranspose>& all, std::span<const IoTranspose> local,
                           const std::set<std::string>& forbidden) {
  std::set<std::string> names;
  for (const IoTranspose& entry : all) names.insert(entry.input_name);
  for (const IoTranspose& entry : local) {
    if (!names.insert(entry.input_name).second) {
      return MakeError(
          ExitCode::kCheckFailed, DiagId::kDuplicateIoTranspose,
          fmt::format("[NCC_IIOT001] Duplicate io_transpose found for input: {}", entry.input_name),
          "two subgraphs ask for a transpose of one input: keep one of them");
    }
    if (forbidden.contains(entry.input_name)) {
      return MakeError(
          ExitCode::kCheckFailed, DiagId::kForbiddenIoTranspose,
          fmt::format("[NCC_IIOT002] Forbidden io_transpose found for input: {}", entry.input_name),
          "this tensor is an edge between subgraphs: only inputs of the model can be transposed "
          "offline");
    }
    all.push_back(entry);
  }
  return {};
}

}  // namespace hlokit
