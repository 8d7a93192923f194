#ifndef HLOKIT_PICKLE_H_
#define HLOKIT_PICKLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hlokit/npy.h"
#include "hlokit/result.h"

namespace hlokit {

using PickleId = uint32_t;

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInt,  ///< fits 64 bits
  kFloat,
  kString,  ///< UTF-8
  kBytes,
  kTuple,
  kList,
  kDict,    ///< `items` alternates keys and values
  kArray,   ///< numpy.ndarray
  kScalar,  ///< a numpy scalar such as numpy.float32(1)
};

/// One Python object. Objects that the pickle shares have one id.
struct PickleValue {
  PickleKind kind = PickleKind::kNone;
  int64_t integer = 0;                     ///< kBool, kInt
  double number = 0;                       ///< kFloat
  std::string_view text;                   ///< kString, kBytes; elements of kArray and kScalar
  std::vector<PickleId> items;             ///< kTuple, kList, kDict
  std::shared_ptr<const ArrayInfo> array;  ///< kArray, kScalar
};

struct PickleLimits {
  uint64_t max_objects = uint64_t{1} << 24;
};

/// The objects of one pickle. Nothing in a pickle is ever executed or imported: the reader knows
/// the few names by which numpy spells arrays and refuses all others.
class PickleDocument {
 public:
  /// Reads protocols 2 to 5. The text must stay alive as long as the document. Fails with
  /// kCannotParse: T020 truncated, T021 opcode refused (by name), T022 global refused (by name),
  /// T023 malformed, T024 array that contradicts itself, T025 too large; with kUnsupported T015 for
  /// object arrays and other element types.
  static Result<PickleDocument> Parse(std::string_view bytes, const PickleLimits& limits = {});
  /// The same for a file, which is mapped: arrays are views, so files larger than memory are fine.
  static Result<PickleDocument> Open(const std::string& path, const PickleLimits& limits = {});

  PickleId root() const { return root_; }
  const PickleValue& value(PickleId id) const { return values_[id]; }
  /// The value of a string key in a dict; nullptr if it is missing.
  const PickleId* Find(PickleId dict, std::string_view key) const;

  PickleDocument() = default;
  /// For building documents: text and array data must outlive the document.
  PickleId Add(PickleValue value);
  void set_root(PickleId id) { root_ = id; }

 private:
  friend class PickleReader;
  std::vector<PickleValue> values_;
  std::vector<std::shared_ptr<void>> owned_;
  PickleId root_ = 0;
};

/// An array that is written in place of another one.
struct PickleReplacement {
  ArrayInfo array;
  std::function<Status(const ByteSink&)> write_data;  ///< must deliver array.bytes bytes
};

/// Writes protocol 4, which Python 3.4 and later read; arrays load with numpy 1 and numpy 2. Shared
/// objects stay shared. `replacements` is keyed by the id of a kArray.
Status WritePickle(const PickleDocument& document,
                   const std::map<PickleId, PickleReplacement>& replacements, const ByteSink& sink);

}  // namespace hlokit

#endif  // HLOKIT_PICKLE_H_
