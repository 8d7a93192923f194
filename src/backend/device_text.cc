// How is a device written as a device file? ReadDevice reads it back.
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "src/backend/device_facts.h"
#include "src/base/json.h"

namespace hlokit {
namespace {

/// The members of one JSON object, one per line.
class Object {
 public:
  explicit Object(int indent) : indent_(indent) {}
  void Add(std::string_view key, std::string value) {
    members_.push_back(fmt::format("{}: {}", JsonQuote(key), value));
  }
  void AddText(std::string_view key, std::string_view text) {
    if (!text.empty()) Add(key, JsonQuote(text));
  }
  std::string Text() const {
    std::string pad(static_cast<size_t>(indent_) + 2, ' ');
    std::string end(static_cast<size_t>(indent_), ' ');
    return fmt::format("{{\n{}{}\n{}}}", pad, fmt::join(members_, ",\n" + pad), end);
  }

 private:
  int indent_;
  std::vector<std::string> members_;
};

template <typename List>
std::string JsonStrings(const List& list, auto text_of) {
  std::vector<std::string> quoted;
  for (const auto& item : list) quoted.push_back(JsonQuote(text_of(item)));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string DemandText(const Demand& demand, int indent) {
  Object out(indent);
  out.AddText("id", demand.id);
  out.AddText("reason", demand.reason);
  if (demand.opcode) out.AddText("opcode", OpcodeText(*demand.opcode));
  out.AddText("target", demand.custom_call_target);
  if (!demand.types.empty()) {
    out.Add("types", JsonStrings(demand.types, [](ElementType type) { return Info(type).text; }));
  }
  if (demand.min_rank) out.Add("rank", fmt::format("[{}, {}]", *demand.min_rank, *demand.max_rank));
  if (demand.all_operands) {
    out.AddText("operands", "all");
  } else if (!demand.operands.empty()) {
    out.Add("operands", fmt::format("[{}]", fmt::join(demand.operands, ", ")));
  }
  if (demand.result) out.Add("result", "true");
  if (demand.order) out.AddText("order", DemandKindName(*demand.order));
  if (demand.order == DemandKind::kDimensionMinor || demand.order == DemandKind::kDimensionMajor) {
    out.Add("dimension", fmt::format("{}", demand.dimension));
  }
  if (!demand.tiles.empty()) {
    std::vector<std::string> tiles;
    for (const std::vector<int64_t>& tile : demand.tiles) tiles.push_back(JsonList(tile));
    out.Add("tiles", fmt::format("[{}]", fmt::join(tiles, ", ")));
  }
  if (demand.tail_padding_alignment != 1) {
    out.Add("tail_padding_alignment", fmt::format("{}", demand.tail_padding_alignment));
  }
  if (demand.memory_space) out.Add("memory_space", fmt::format("{}", *demand.memory_space));
  if (!demand.mandatory) out.AddText("strength", "wish");
  return out.Text();
}

}  // namespace

std::string DeviceText(const Device& device) {
  Object out(0);
  out.AddText("schema", "hlokit.device/1");
  out.AddText("name", device.name);
  if (!device.aliases.empty()) {
    out.Add("aliases", JsonStrings(device.aliases, [](const std::string& name) { return name; }));
  }
  out.AddText("summary", device.summary);
  out.AddText("backend", BackendName(device.backend));
  if (device.vendor != Vendor::kNone) out.AddText("vendor", VendorName(device.vendor));
  if (device.backend == Backend::kGpu && device.vendor == Vendor::kCuda) {
    out.AddText("compute_capability", backend::CapabilityText(device.compute_capability));
  }
  out.AddText("gfx", device.gfx);
  out.AddText("dnn_version", device.dnn_version);
  if (device.backend == Backend::kCpu) {
    out.Add("minimum_alignment", fmt::format("{}", device.minimum_alignment));
  }
  if (device.backend == Backend::kGpu) {
    Object flags(2);
    for (const BackendFlagInfo& flag : BackendFlagTable()) {
      flags.Add(flag.name, device.flags.*(flag.field) ? "true" : "false");
    }
    out.Add("flags", flags.Text());
  }
  out.AddText("documentation", device.documentation);
  if (!device.demands.empty()) {
    std::vector<std::string> demands;
    for (const Demand& demand : device.demands) demands.push_back(DemandText(demand, 4));
    out.Add("demands", fmt::format("[\n    {}\n  ]", fmt::join(demands, ",\n    ")));
  }
  return out.Text() + "\n";
}

}  // namespace hlokit
