// What does hlo_netlist.json say about names: which are edges, which stand for others?
#include "src/neuron_ir/netlist.h"

#include <charconv>
#include <map>

#include "fmt/format.h"
#include "src/base/json.h"

namespace hlokit {
namespace {

constexpr const char* kHelp =
    R"(expected {"PartMap": [{"PartIOs": {"Inputs": [...], "IntermediateIOs": [...]}}], "IntermediateIOs": [...]})";

std::unexpected<Error> WrongType(const JsonDocument& json, int32_t at, std::string_view wanted) {
  return json.Fail(
      DiagId::kWrongJsonType, at,
      fmt::format("type must be {}, but is {}", wanted, JsonKindName(json.node(at).kind)), kHelp);
}

std::unexpected<Error> Missing(const JsonDocument& json, int32_t at, std::string_view key) {
  return json.Fail(DiagId::kMissingJsonKey, at, fmt::format("{} not found in json", key), kHelp);
}

/// Appends the model's names of a list; names that the list gives twice go to `aliases`.
Status ReadNames(const JsonDocument& json, int32_t list, std::vector<std::string>& names,
                 std::vector<std::pair<std::string, std::string>>& aliases) {
  const JsonKind kind = json.node(list).kind;
  if (kind != JsonKind::kArray && kind != JsonKind::kObject) return WrongType(json, list, "array");
  for (int32_t at = json.node(list).first; at >= 0; at = json.node(at).next) {
    const JsonNode& node = json.node(at);
    if (kind == JsonKind::kArray && node.kind == JsonKind::kArray) {
      if (node.children != 2) return WrongType(json, at, "string or a pair of strings");
      const JsonNode& local = json.node(node.first);
      const JsonNode& model = json.node(local.next);
      if (local.kind != JsonKind::kString) return WrongType(json, node.first, "string");
      if (model.kind != JsonKind::kString) return WrongType(json, local.next, "string");
      aliases.emplace_back(local.text, model.text);
      names.push_back(model.text);
      continue;
    }
    if (node.kind != JsonKind::kString) return WrongType(json, at, "string");
    if (kind == JsonKind::kObject) aliases.emplace_back(node.key, node.text);
    names.push_back(node.text);
  }
  return {};
}

Result<Partition> ReadPartition(const JsonDocument& json, int32_t at, std::string id) {
  if (json.node(at).kind != JsonKind::kObject) return WrongType(json, at, "object");
  const int32_t ios = json.Find(at, "PartIOs");
  if (ios < 0) return Missing(json, at, "PartIOs");
  if (json.node(ios).kind != JsonKind::kObject) return WrongType(json, ios, "object");
  Partition partition{.id = std::move(id)};
  if (const int32_t list = json.Find(ios, "Inputs"); list >= 0)
    TRY(ReadNames(json, list, partition.inputs, partition.aliases));
  std::vector<std::string> edges;
  if (const int32_t list = json.Find(ios, "IntermediateIOs"); list >= 0)
    TRY(ReadNames(json, list, edges, partition.aliases));
  return partition;
}

}  // namespace

Result<Netlist> ParseNetlist(std::string_view text) {
  ASSIGN_OR_RETURN(const JsonDocument json, JsonDocument::Parse(text));
  if (json.root().kind != JsonKind::kObject) return WrongType(json, 0, "object");
  const int32_t map = json.Find(0, "PartMap");
  if (map < 0) return Missing(json, 0, "PartMap");
  const JsonKind kind = json.node(map).kind;
  if (kind != JsonKind::kArray && kind != JsonKind::kObject)
    return WrongType(json, map, "array or object");
  Netlist netlist;
  for (int32_t at = json.node(map).first; at >= 0; at = json.node(at).next) {
    std::string id =
        kind == JsonKind::kObject ? json.node(at).key : std::to_string(netlist.partitions.size());
    ASSIGN_OR_RETURN(Partition partition, ReadPartition(json, at, std::move(id)));
    netlist.partitions.push_back(std::move(partition));
  }
  if (const int32_t list = json.Find(0, "IntermediateIOs"); list >= 0) {
    std::vector<std::string> edges;
    std::vector<std::pair<std::string, std::string>> ignored;
    TRY(ReadNames(json, list, edges, ignored));
    netlist.edges.insert(edges.begin(), edges.end());
  }
  return netlist;
}

void ApplyPositions(const Partition& partition, std::vector<IoTranspose>& entries) {
  constexpr std::string_view kPrefix = "input";
  for (IoTranspose& entry : entries) {
    const std::string& name = entry.input_name;
    if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) continue;
    size_t number = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, number);
    if (error == std::errc() && stop == end && number < partition.inputs.size())
      entry.input_name = partition.inputs[number];
  }
}

Status PropagateThroughAliases(const Netlist& netlist, std::vector<IoTranspose>& entries) {
  std::map<std::string, std::string> model_name;
  for (const Partition& partition : netlist.partitions) {
    for (const auto& [local, model] : partition.aliases) {
      if (local == model) continue;
      const auto [known, fresh] = model_name.emplace(local, model);
      if (fresh || known->second == model) continue;
      return MakeError(ExitCode::kCheckFailed, DiagId::kDuplicateIoTranspose,
                       fmt::format("the netlist lets {} stand for {} and for {}", JsonQuote(local),
                                   JsonQuote(known->second), JsonQuote(model)),
                       "names of subgraphs have to be unique");
    }
  }
  std::map<std::string, size_t> position;
  std::vector<IoTranspose> result;
  for (const IoTranspose& entry : entries) {
    IoTranspose moved = entry;
    size_t steps = 0;
    for (auto it = model_name.find(moved.input_name); it != model_name.end();
         it = model_name.find(moved.input_name)) {
      moved.input_name = it->second;
      if (++steps <= model_name.size()) continue;
      return MakeError(
          ExitCode::kCheckFailed, DiagId::kDuplicateIoTranspose,
          fmt::format("the aliases of {} run in a circle", JsonQuote(entry.input_name)),
          "one of the names has to be an input of the model");
    }
    if (netlist.edges.contains(moved.input_name)) {
      return MakeError(
          ExitCode::kCheckFailed, DiagId::kForbiddenIoTranspose,
          fmt::format("[NCC_IIOT002] Forbidden io_transpose found for input: {}", moved.input_name),
          "this tensor is an edge between subgraphs: only inputs of the model can be "
          "transposed offline");
    }
    const auto [known, fresh] = position.emplace(moved.input_name, result.size());
    if (fresh) {
      result.push_back(std::move(moved));
      continue;
    }
    const IoTranspose& first = result[known->second];
    if (first.reshape == moved.reshape && first.transpose == moved.transpose) continue;
    return MakeError(
        ExitCode::kCheckFailed, DiagId::kDuplicateIoTranspose,
        fmt::format("[NCC_IIOT001] Duplicate io_transpose found for input: {}", moved.input_name),
        "two subgraphs want this input in different forms: keep one of them");
  }
  entries = std::move(result);
  return {};
}

}  // namespace hlokit
