// Which devices take part in a collective?
#include "src/passes/shared/replica_groups.h"

#include <charconv>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace hlokit {
namespace {

constexpr int64_t kMaxDevices = 1 << 20;

/// Reads "[2,4]" or "(1,0)" at the front of `rest`.
std::optional<std::vector<int64_t>> ReadList(std::string_view* rest, char open, char close) {
  if (rest->empty() || rest->front() != open) return std::nullopt;
  size_t end = rest->find(close);
  if (end == rest->npos) return std::nullopt;
  std::string_view body = rest->substr(1, end - 1);
  rest->remove_prefix(end + 1);
  std::vector<int64_t> values;
  while (!body.empty()) {
    int64_t value = 0;
    auto [next, error] = std::from_chars(body.data(), body.data() + body.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    values.push_back(value);
    body.remove_prefix(static_cast<size_t>(next - body.data()));
    if (!body.empty() && body.front() == ',') body.remove_prefix(1);
  }
  return values;
}

int64_t Product(const std::vector<int64_t>& values) {
  int64_t product = 1;
  for (int64_t value : values) {
    if (value == 0) return 0;
    if (product > kMaxDevices / value) return kMaxDevices + 1;
    product *= value;
  }
  return product;
}

/// [groups,devices]<=[dims]T(perm) as a list.
std::optional<std::string> ExpandIota(std::string_view rest) {
  std::optional<std::vector<int64_t>> shape = ReadList(&rest, '[', ']');
  if (!shape || shape->size() != 2 || !rest.starts_with("<=")) return std::nullopt;
  rest.remove_prefix(2);
  std::optional<std::vector<int64_t>> dims = ReadList(&rest, '[', ']');
  if (!dims || Product(*shape) > kMaxDevices || Product(*shape) != Product(*dims))
    return std::nullopt;
  std::vector<int64_t> perm(dims->size());
  std::iota(perm.begin(), perm.end(), 0);
  if (rest.starts_with("T")) {
    rest.remove_prefix(1);
    std::optional<std::vector<int64_t>> given = ReadList(&rest, '(', ')');
    if (!given || given->size() != perm.size()) return std::nullopt;
    perm = *given;
  }
  std::vector<int64_t> strides(dims->size(), 1);
  for (size_t i = dims->size(); i-- > 1;) strides[i - 1] = strides[i] * (*dims)[i];
  std::vector<int64_t> index(dims->size(), 0);
  std::string out;
  for (int64_t i = 0; i < Product(*shape); ++i) {
    int64_t device = 0;
    for (size_t d = 0; d < perm.size(); ++d) {
      size_t from = static_cast<size_t>(perm[d]);
      if (from >= strides.size()) return std::nullopt;
      device += index[d] * strides[from];
    }
    out += std::to_string(device);
    out += (i + 1) % (*shape)[1] == 0 ? ';' : ',';
    for (size_t d = perm.size(); d-- > 0;) {
      if (++index[d] < (*dims)[static_cast<size_t>(perm[d])]) break;
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace

std::string ReplicaGroupsKey(std::string_view text) {
  if (text.starts_with("[")) {
    if (std::optional<std::string> list = ExpandIota(text)) return *list;
    return std::string(text);
  }
  if (!text.starts_with("{")) return std::string(text);
  std::string out;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    char c = text[i];
    if (c == '}') {
      out += ';';
    } else if ((c >= '0' && c <= '9') || (c == ',' && text[i - 1] != '}')) {
      out += c;
    }
  }
  return out;
}

}  // namespace hlokit
