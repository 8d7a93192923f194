// Which devices do replica groups name that are written without listing them?
#include "src/eval/compact_groups.h"

#include <algorithm>
#include <numeric>

#include "src/analysis/text_scanner.h"
#include "src/eval/value.h"

namespace hlokit::eval {
namespace {

constexpr int64_t kMaxDevices = 1 << 16;

using Groups = std::vector<std::vector<int64_t>>;

/// 0, 1, 2, … in an array of `dims`, transposed, row by row. An empty order changes nothing.
std::optional<std::vector<int64_t>> TransposedIota(std::span<const int64_t> dims,
                                                   std::vector<int64_t> order) {
  if (order.empty()) {
    order.resize(dims.size());
    std::iota(order.begin(), order.end(), 0);
  }
  int64_t total = 1;
  for (int64_t dim : dims) {
    if (dim < 1) return std::nullopt;
    total = SaturatingProduct(total, dim);
  }
  if (total > kMaxDevices || order.size() != dims.size()) return std::nullopt;
  const std::vector<int64_t> strides = RowMajorStrides(dims);
  std::vector<int64_t> sizes, steps, index(dims.size(), 0), values;
  std::vector<bool> seen(dims.size());
  for (int64_t dim : order) {
    if (dim < 0 || dim >= static_cast<int64_t>(dims.size()) || seen[dim]) return std::nullopt;
    seen[dim] = true;
    sizes.push_back(dims[dim]);
    steps.push_back(strides[dim]);
  }
  do {
    values.push_back(std::inner_product(index.begin(), index.end(), steps.begin(), int64_t{0}));
  } while (NextIndex(sizes, index));
  return values;
}

Groups Rows(std::span<const int64_t> devices, int64_t row) {
  Groups groups;
  for (; !devices.empty(); devices = devices.subspan(static_cast<size_t>(row))) {
    groups.emplace_back(devices.begin(), devices.begin() + row);
  }
  return groups;
}

/// [G,D]<=[dims]T(order): the iota, transposed, is cut into G rows.
std::optional<Groups> ExpandIota(std::string_view text) {
  TextScanner scan(text);
  std::vector<int64_t> shape, dims, order;
  if (!scan.Eat("[") || !scan.EatInts("]", &shape) || shape.size() != 2 || !scan.Eat("<=") ||
      !scan.Eat("[") || !scan.EatInts("]", &dims) || dims.empty() ||
      (scan.Eat("T(") && !scan.EatInts(")", &order))) {
    return std::nullopt;
  }
  const std::optional<std::vector<int64_t>> devices = TransposedIota(dims, std::move(order));
  if (!devices || shape[0] < 1 || shape[1] < 1 ||
      SaturatingProduct(shape[0], shape[1]) != static_cast<int64_t>(devices->size())) {
    return std::nullopt;
  }
  return Rows(*devices, shape[1]);
}

/// Part of a mesh axis: behind `before` positions of more significance.
struct AxisPart {
  size_t axis = 0;
  int64_t before = 1, size = 1;
  bool operator==(const AxisPart&) const = default;
};

struct Mesh {
  std::vector<std::string_view> names;
  std::vector<int64_t> sizes;
  std::vector<int64_t> devices;
  std::vector<AxisPart> grouped;
};

/// device_ids=(3,2,1,0) or device_ids=([2,2]T(1,0)), behind the opening parenthesis.
bool ScanDeviceIds(TextScanner* scan, std::vector<int64_t>* devices) {
  if (!scan->Eat("[")) return scan->EatInts(")", devices);
  std::vector<int64_t> dims, order;
  if (!scan->EatInts("]", &dims) || (scan->Eat("T(") && !scan->EatInts(")", &order))) return false;
  std::optional<std::vector<int64_t>> ids = TransposedIota(dims, std::move(order));
  if (!ids) return false;
  *devices = std::move(*ids);
  return scan->Eat(")");
}

bool ScanAxisPart(TextScanner* scan, Mesh* mesh) {
  std::string_view name;
  if (!scan->EatQuoted(&name)) return false;
  const auto at = std::ranges::find(mesh->names, name);
  if (at == mesh->names.end()) return false;
  AxisPart part;
  part.axis = static_cast<size_t>(at - mesh->names.begin());
  part.size = mesh->sizes[part.axis];
  if (scan->Eat(":(") &&
      (!scan->EatInt(&part.before) || !scan->Eat(")") || !scan->EatInt(&part.size))) {
    return false;
  }
  mesh->grouped.push_back(part);
  const int64_t size = mesh->sizes[part.axis];
  return part.before > 0 && part.size > 0 && part.before <= size && part.size <= size &&
         size % (part.before * part.size) == 0;
}

std::optional<Mesh> ScanMesh(std::string_view text) {
  TextScanner scan(text);
  Mesh mesh;
  if (!scan.Eat("mesh[")) return std::nullopt;
  do {
    if (!scan.EatQuoted(&mesh.names.emplace_back()) || !scan.Eat("=") ||
        !scan.EatInt(&mesh.sizes.emplace_back())) {
      return std::nullopt;
    }
  } while (scan.Eat(","));
  if (!scan.Eat("]")) return std::nullopt;
  std::optional<std::vector<int64_t>> plain = TransposedIota(mesh.sizes, {});
  if (!plain) return std::nullopt;
  if (scan.Eat(",")) {
    if (!scan.Eat("device_ids=(") || !ScanDeviceIds(&scan, &mesh.devices) ||
        mesh.devices.size() != plain->size()) {
      return std::nullopt;
    }
  } else {
    mesh.devices = std::move(*plain);
  }
  if (!scan.Eat("{")) return std::nullopt;
  do {
    if (!ScanAxisPart(&scan, &mesh)) return std::nullopt;
  } while (scan.Eat(","));
  if (!scan.Eat("}") || !scan.AtEnd()) return std::nullopt;
  return mesh;
}

/// All axes, cut where the parts that make groups begin and end.
std::optional<std::vector<AxisPart>> CutAxes(const Mesh& mesh) {
  std::vector<AxisPart> parts;
  for (size_t axis = 0; axis < mesh.sizes.size(); ++axis) {
    std::vector<int64_t> cuts = {1, mesh.sizes[axis]};
    for (const AxisPart& part : mesh.grouped) {
      if (part.axis != axis) continue;
      cuts.push_back(part.before);
      cuts.push_back(part.before * part.size);
    }
    std::ranges::sort(cuts);
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      if (cuts[i + 1] % cuts[i] != 0) return std::nullopt;
      if (cuts[i + 1] != cuts[i]) parts.push_back({axis, cuts[i], cuts[i + 1] / cuts[i]});
    }
  }
  return parts;
}

/// Devices that differ only along the named axes form a group; the axis named first counts slowest.
std::optional<Groups> ExpandMesh(std::string_view text) {
  const std::optional<Mesh> mesh = ScanMesh(text);
  if (!mesh) return std::nullopt;
  const std::optional<std::vector<AxisPart>> parts = CutAxes(*mesh);
  if (!parts) return std::nullopt;
  std::vector<int64_t> sizes, order, inside;
  for (const AxisPart& part : *parts) sizes.push_back(part.size);
  int64_t members = 1;
  for (const AxisPart& part : mesh->grouped) {
    if (part.size == 1) continue;
    const auto at = std::ranges::find(*parts, part);
    const int64_t place = at - parts->begin();
    // A part that others cut in two, or that is named twice.
    if (at == parts->end() || std::ranges::count(inside, place) != 0) return std::nullopt;
    inside.push_back(place);
    members *= part.size;
  }
  for (int64_t i = 0; i < static_cast<int64_t>(parts->size()); ++i) {
    if (std::ranges::count(inside, i) == 0) order.push_back(i);
  }
  order.insert(order.end(), inside.begin(), inside.end());
  std::optional<std::vector<int64_t>> places = TransposedIota(sizes, std::move(order));
  if (!places) return std::nullopt;
  for (int64_t& place : *places) place = mesh->devices[static_cast<size_t>(place)];
  return Rows(*places, members);
}

}  // namespace

std::optional<Groups> ExpandCompactGroups(std::string_view text) {
  return text.starts_with("[") ? ExpandIota(text) : ExpandMesh(text);
}

}  // namespace hlokit::eval
