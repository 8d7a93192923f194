// How are the parts of a device file read? Shared by the reader of the device and that of its
// demands.
#ifndef HLOKIT_SRC_BACKEND_OBJECT_READER_H_
#define HLOKIT_SRC_BACKEND_OBJECT_READER_H_

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "src/backend/device_facts.h"
#include "src/base/json.h"

namespace hlokit::backend {

/// Collects every problem of a JSON document, with its place.
class ObjectReader {
 public:
  ObjectReader(const JsonDocument& json, const std::string& file, std::vector<Diagnostic>* errors)
      : json_(json), file_(file), errors_(errors) {}

 protected:
  static constexpr const char* kHelp = "docs/reference/device-file.md describes the format";
  /// A key of an object, the kind that its value must have, and what to do with it.
  template <typename Owner>
  struct Key {
    std::string_view name;
    JsonKind kind;  ///< kNull: any kind, the function looks itself
    void (Owner::*read)(int32_t node);
  };

  const JsonNode& node(int32_t id) const { return json_.node(id); }
  void Problem(DiagId id, int32_t at, std::string message, std::string help = kHelp);
  bool IsKind(int32_t at, JsonKind kind);
  /// Nothing, and a problem, for what is no integer between these two.
  std::optional<int64_t> Integer(int32_t at, int64_t least, int64_t most);
  bool Require(int32_t object, std::string_view key);

  template <typename Owner, size_t n>
  void ReadObject(int32_t object, const Key<Owner> (&keys)[n]) {
    for (int32_t child = node(object).first; child >= 0; child = node(child).next) {
      const Key<Owner>* key =
          std::find_if(std::begin(keys), std::end(keys),
                       [&](const Key<Owner>& k) { return k.name == node(child).key; });
      if (key == std::end(keys)) {
        std::vector<std::string_view> names;
        for (const Key<Owner>& known : keys) names.push_back(known.name);
        UnknownKey(child, names);
      } else if (key->kind == JsonKind::kNull || IsKind(child, key->kind)) {
        (static_cast<Owner*>(this)->*(key->read))(child);
      }
    }
  }

  const JsonDocument& json_;
  const std::string& file_;
  std::vector<Diagnostic>* errors_;

 private:
  void UnknownKey(int32_t at, const std::vector<std::string_view>& names);
};

/// The demand that an object of the document describes.
Demand ReadDemand(const JsonDocument& json, int32_t object, const std::string& file,
                  std::vector<Diagnostic>* errors);
/// Two demands of one name (an error), and demands that meet at one place (warnings). `nodes` are
/// the objects of the demands in the document.
void CheckDemands(const JsonDocument& json, std::span<const int32_t> nodes,
                  std::span<const Demand> demands, const std::string& file,
                  std::vector<Diagnostic>* errors, std::vector<Diagnostic>* warnings);

}  // namespace hlokit::backend

#endif  // HLOKIT_SRC_BACKEND_OBJECT_READER_H_
