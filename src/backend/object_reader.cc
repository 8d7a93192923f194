// How are the parts of a device file read?
#include "src/backend/object_reader.h"

namespace hlokit::backend {

void ObjectReader::Problem(DiagId id, int32_t at, std::string message, std::string help) {
  Diagnostic problem = json_.At(id, Severity::kError, at, std::move(message), std::move(help));
  problem.file = file_;
  errors_->push_back(std::move(problem));
}

bool ObjectReader::IsKind(int32_t at, JsonKind kind) {
  if (node(at).kind == kind) return true;
  std::string key = node(at).key.empty() ? "this entry" : JsonQuote(node(at).key);
  Problem(DiagId::kDeviceFileValue, at,
          fmt::format("{} must be {}, but is {}", key, JsonKindName(kind),
                      JsonKindName(node(at).kind)));
  return false;
}

std::optional<int64_t> ObjectReader::Integer(int32_t at, int64_t least, int64_t most) {
  if (!IsKind(at, JsonKind::kInteger)) return std::nullopt;
  int64_t value = node(at).integer;
  if (value >= least && value <= most) return value;
  Problem(DiagId::kDeviceFileValue, at,
          fmt::format("{} is not between {} and {}", value, least, most));
  return std::nullopt;
}

void ObjectReader::UnknownKey(int32_t at, const std::vector<std::string_view>& names) {
  Problem(DiagId::kDeviceFileKey, at,
          fmt::format("there is no key {} here", JsonQuote(node(at).key)),
          DidYouMean(node(at).key, names, fmt::format("keys: {}", fmt::join(names, ", "))));
}

bool ObjectReader::Require(int32_t object, std::string_view key) {
  if (json_.Find(object, key) >= 0) return true;
  Problem(DiagId::kDeviceFileKey, object, fmt::format("the key \"{}\" is missing", key));
  return false;
}

}  // namespace hlokit::backend
