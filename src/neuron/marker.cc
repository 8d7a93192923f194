// What did an earlier run do? Reads and writes the record that it left in the work folder.

#include "src/neuron/marker.h"

#include <algorithm>

#include "fmt/format.h"
#include "src/base/json.h"

namespace hlokit {
namespace {

constexpr std::string_view kSchema = "hlokit-static-io-transpose-1";

std::unexpected<Error> Damaged(std::string what) {
  return MakeError(
      ExitCode::kCannotParse, DiagId::kBadMarker,
      fmt::format("the record {} of an earlier run is damaged: {}", kMarkerName, what),
      "if inp-000.p holds fresh inputs, delete the record; if not, restore both from a copy");
}

/// Typed access that remembers the first mistake, so that the caller checks once.
class Fields {
 public:
  explicit Fields(const JsonDocument& json) : json_(json) {}

  int32_t Get(int32_t object, std::string_view key, JsonKind kind) {
    const int32_t child =
        json_.node(object).kind == JsonKind::kObject ? json_.Find(object, key) : -1;
    if (child >= 0 && json_.node(child).kind == kind) return child;
    if (mistake_.empty()) mistake_ = fmt::format("'{}' is missing", key);
    return -1;
  }
  std::string Text(int32_t object, std::string_view key) {
    const int32_t child = Get(object, key, JsonKind::kString);
    return child < 0 ? "" : json_.node(child).text;
  }
  std::vector<int64_t> Numbers(int32_t object, std::string_view key) {
    std::vector<int64_t> values;
    for (int32_t item : Items(object, key)) {
      if (json_.node(item).kind != JsonKind::kInteger || json_.node(item).integer < 0)
        mistake_ = "a number is expected";
      values.push_back(json_.node(item).integer);
    }
    return values;
  }
  std::vector<int32_t> Items(int32_t object, std::string_view key) {
    std::vector<int32_t> items;
    const int32_t list = Get(object, key, JsonKind::kArray);
    for (int32_t item = list < 0 ? -1 : json_.node(list).first; item >= 0;
         item = json_.node(item).next)
      items.push_back(item);
    return items;
  }
  const std::string& mistake() const { return mistake_; }

 private:
  const JsonDocument& json_;
  std::string mistake_;
};

}  // namespace

std::string WriteMarker(const Marker& marker) {
  std::string out = fmt::format(
      "{{\n  \"schema\": \"{}\",\n  \"original_json\": {},\n  \"made_folder\": {},\n  \"inputs\": "
      "[",
      kSchema, JsonQuote(marker.original_json), marker.made_folder);
  for (size_t i = 0; i < marker.inputs.size(); ++i) {
    const AppliedTranspose& input = marker.inputs[i];
    out += fmt::format(
        "{}\n    {{\"input_name\": {}, \"original_shape\": {}, \"reshape\": {}, \"transpose\": {}, "
        "\"before\": \"{}\", \"after\": \"{}\"}}",
        i == 0 ? "" : ",", JsonQuote(input.spec.input_name), JsonList(input.original_shape),
        JsonList(input.spec.reshape), JsonList(input.spec.transpose), input.before, input.after);
  }
  out += "\n  ],\n  \"files\": [";
  for (size_t i = 0; i < marker.files.size(); ++i)
    out += fmt::format("{}\n    {}", i == 0 ? "" : ",", JsonQuote(marker.files[i]));
  out += "\n  ],\n  \"links\": [";
  for (size_t i = 0; i < marker.links.size(); ++i) {
    const MadeLink& link = marker.links[i];
    out += fmt::format("{}\n    {{\"path\": {}, \"previous\": {}}}", i == 0 ? "" : ",",
                       JsonQuote(link.path), link.previous ? JsonQuote(*link.previous) : "null");
  }
  return out + "\n  ]\n}\n";
}

Result<Marker> ParseMarker(std::string_view text) {
  Result<JsonDocument> json = JsonDocument::Parse(text);
  if (!json) return Damaged(json.error().diagnostics[0].message);
  Fields fields(*json);
  if (fields.Text(0, "schema") != kSchema) return Damaged("its schema is unknown");
  Marker marker;
  marker.original_json = fields.Text(0, "original_json");
  if (const int32_t made = fields.Get(0, "made_folder", JsonKind::kBool); made >= 0) {
    marker.made_folder = json->node(made).integer != 0;
  }
  for (int32_t item : fields.Items(0, "inputs")) {
    AppliedTranspose& input = marker.inputs.emplace_back();
    input.spec = {.input_name = fields.Text(item, "input_name"),
                  .reshape = fields.Numbers(item, "reshape"),
                  .transpose = fields.Numbers(item, "transpose")};
    input.original_shape = fields.Numbers(item, "original_shape");
    input.before = fields.Text(item, "before");
    input.after = fields.Text(item, "after");
  }
  for (int32_t item : fields.Items(0, "files")) marker.files.push_back(json->node(item).text);
  for (int32_t item : fields.Items(0, "links")) {
    MadeLink& link = marker.links.emplace_back();
    link.path = fields.Text(item, "path");
    const int32_t previous =
        json->node(item).kind == JsonKind::kObject ? json->Find(item, "previous") : -1;
    if (previous >= 0 && json->node(previous).kind == JsonKind::kString)
      link.previous = json->node(previous).text;
  }
  if (!fields.mistake().empty()) return Damaged(fields.mistake());
  for (const AppliedTranspose& input : marker.inputs) {
    std::vector<int64_t> sorted = input.spec.transpose;
    std::sort(sorted.begin(), sorted.end());
    bool good = sorted.size() == input.spec.reshape.size();
    for (size_t i = 0; good && i < sorted.size(); ++i) good = sorted[i] == static_cast<int64_t>(i);
    if (!good || !SimplifyIoTranspose(input.spec, input.original_shape))
      return Damaged("a transpose is none");
  }
  return marker;
}

}  // namespace hlokit
