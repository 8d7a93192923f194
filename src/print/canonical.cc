// What is different in the canonical and the fingerprint options (hlo-text.md section 12)? Names by
// first appearance, bodies of called computations in place, replica groups written out.
#include <charconv>
#include <vector>

#include "src/print/module_printer.h"
#include "src/print/order.h"
#include "src/print/value_text.h"

namespace hlokit {
namespace {

/// Bodies in place can grow exponentially with the depth of calls. Beyond this many bytes, called
/// computations are named instead.
constexpr size_t kMostBodyBytes = size_t{64} << 20;
/// Device ids of one attribute that are written out.
constexpr int64_t kMostDevices = int64_t{1} << 20;
constexpr uint32_t kNoNumber = 0xffffffffu;

/// Skips a balanced {…}, quotes respected; returns the position behind it.
size_t SkipBraces(std::string_view text, size_t at) {
  int depth = 0;
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == '\\') {
        ++at;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return at + 1;
    }
  }
  return text.size();
}

/// Reads "[a,b,…]" or "(a,b,…)" at `*at`. False when something else stands there.
bool ReadList(std::string_view text, size_t* at, char open, char close, std::vector<int64_t>* out) {
  if (*at >= text.size() || text[*at] != open) return false;
  const char* next = text.data() + *at + 1;
  const char* end = text.data() + text.size();
  while (true) {
    int64_t value = 0;
    const auto [after, error] = std::from_chars(next, end, value);
    if (error != std::errc() || after == end) return false;
    out->push_back(value);
    next = after + 1;
    if (*after == close) break;
    if (*after != ',') return false;
  }
  *at = static_cast<size_t>(next - text.data());
  return true;
}

/// The numbers of an iota over `dims`, transposed by `perm`, in row-major order.
std::vector<int64_t> TransposedIota(const std::vector<int64_t>& dims,
                                    const std::vector<int64_t>& perm) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  std::vector<int64_t> values = {0};
  for (int64_t source : perm) {
    std::vector<int64_t> longer;
    longer.reserve(values.size() * static_cast<size_t>(dims[source]));
    for (int64_t value : values) {
      for (int64_t i = 0; i < dims[source]; ++i) longer.push_back(value + i * strides[source]);
    }
    values = std::move(longer);
  }
  return values;
}

}  // namespace

uint32_t ModulePrinter::CanonicalNumber(InstId id) {
  if (canonical_.empty()) canonical_.assign(module_.instruction_count(), kNoNumber);
  uint32_t& number = canonical_[id.value];
  if (number == kNoNumber) {
    number = static_cast<uint32_t>(named_.size());
    named_.push_back(id);
  }
  return number;
}

/// Makes the text of every computation, callees first, so that no recursion is needed.
void ModulePrinter::RememberBodies() {
  bodies_.resize(module_.computation_count());
  InstructionOrder order(module_);
  const std::vector<bool> fusion_bodies = FusionBodies(module_);
  for (CompId id : ComputationTopologicalOrder(module_)) {
    const bool stored = module_.config().is_scheduled && !fusion_bodies[id.value];
    const size_t start = out_.size();
    out_.Append("{\n");
    AppendLines(id, stored ? order.Stored(id) : order.PostOrder(id));
    out_.Append('}');
    body_bytes_ += out_.size() - start;
    if (body_bytes_ > kMostBodyBytes) {
      out_.Truncate(start);
      break;
    }
    bodies_[id.value] = out_.View(start);
    out_.Truncate(start);
  }
}

/// A line break and the body, each line behind `indent` blanks.
void ModulePrinter::AppendBlock(CompId id, int indent) {
  std::string_view body = bodies_[id.value];
  const std::string blanks(static_cast<size_t>(indent), ' ');
  while (!body.empty()) {
    out_.Append('\n');
    out_.Append(blanks);
    const size_t line = std::min(body.find('\n'), body.size());
    out_.Append(body.substr(0, line));
    body.remove_prefix(std::min(line + 1, body.size()));
  }
}

std::string WithoutShardingMetadata(std::string_view sharding) {
  constexpr std::string_view kKey = "metadata={";
  std::string out;
  size_t at = 0;
  while (true) {
    const size_t found = sharding.find(kKey, at);
    if (found == std::string_view::npos) break;
    // One blank stands in front of it; in a sharding over a mesh also a comma.
    std::string_view before = sharding.substr(at, found - at);
    while (!before.empty() && (before.back() == ' ' || before.back() == ','))
      before.remove_suffix(1);
    out += before;
    at = SkipBraces(sharding, found + kKey.size() - 1);
  }
  out += sharding.substr(at);
  return out;
}

std::string ExpandedReplicaGroups(std::string_view groups) {
  size_t at = 0;
  std::vector<int64_t> sizes, dims, perm;
  if (!ReadList(groups, &at, '[', ']', &sizes) || groups.substr(at, 2) != "<=") {
    return std::string(groups);
  }
  at += 2;
  if (!ReadList(groups, &at, '[', ']', &dims)) return std::string(groups);
  if (groups.substr(at, 1) == "T" && !ReadList(groups, &++at, '(', ')', &perm)) {
    return std::string(groups);
  }
  if (perm.empty()) {
    for (size_t i = 0; i < dims.size(); ++i) perm.push_back(static_cast<int64_t>(i));
  }
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim <= 0 || dim > kMostDevices / count) return std::string(groups);
    count *= dim;
  }
  for (int64_t source : perm) {
    if (source < 0 || source >= static_cast<int64_t>(dims.size())) return std::string(groups);
  }
  if (sizes.size() != 2 || sizes[0] <= 0 || sizes[1] <= 0 || perm.size() != dims.size() ||
      sizes[1] > count || sizes[0] != count / sizes[1] || count % sizes[1] != 0) {
    return std::string(groups);
  }
  const std::vector<int64_t> devices = TransposedIota(dims, perm);
  if (static_cast<int64_t>(devices.size()) != count) return std::string(groups);
  TextBuffer out(devices.size() * 6 + 16);
  out.Append('{');
  for (size_t i = 0; i < devices.size(); ++i) {
    const size_t place = i % static_cast<size_t>(sizes[1]);
    if (place == 0) out.Append(i == 0 ? "{" : "},{");
    if (place != 0) out.Append(',');
    out.AppendInteger(devices[i]);
  }
  out.Append("}}");
  return out.Take();
}

}  // namespace hlokit
