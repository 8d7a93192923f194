// What is the canonical text of an attribute that a module keeps as text, given its message?
// (hlo-text.md section 8.) Every function answers false when the bytes are broken or say something
// that has no text; fields that text does not show are the caller's business.
#ifndef HLOKIT_SRC_PROTO_ATTRIBUTE_TEXT_H_
#define HLOKIT_SRC_PROTO_ATTRIBUTE_TEXT_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/print/text_buffer.h"
#include "wire.h"

namespace hlokit::proto {

/// What is wrong with an attribute; `what` empty = nothing.
struct TextProblem {
  std::string what;
  const char* at = nullptr;
};

class AttributeText {
 public:
  /// `payloads` are the shared byte strings of the module.
  explicit AttributeText(const std::vector<std::string_view>* payloads) : payloads_(payloads) {}

  const TextProblem& problem() const { return problem_; }
  /// The last message held fields that its text does not show, or not exactly.
  bool lossy() const { return lossy_; }
  void ClearLossy() { lossy_ = false; }

  /// OpMetadata as "{…}". `shown` says whether text shows such metadata at all.
  bool Metadata(std::string_view bytes, TextBuffer* out, bool* shown);
  bool FrontendAttributes(std::string_view bytes, TextBuffer* out);
  bool Statistics(std::string_view bytes, TextBuffer* out);
  bool Origin(std::string_view bytes, TextBuffer* out);
  bool OriginArray(std::string_view bytes, TextBuffer* out);
  bool ResultAccuracy(std::string_view bytes, TextBuffer* out);
  bool Sparsity(std::string_view bytes, TextBuffer* out);
  bool DimLabels(std::string_view bytes, TextBuffer* out);
  /// The three forms of replica groups.
  bool GroupList(std::span<const std::string_view> groups, TextBuffer* out);
  bool DeviceList(std::string_view bytes, TextBuffer* out);
  bool IotaGroups(std::string_view bytes, TextBuffer* out);
  bool MeshGroups(std::string_view bytes, TextBuffer* out);
  /// OpSharding as it stands, without the normalisations of hlo-text.md section 8.12.
  bool Sharding(std::string_view bytes, TextBuffer* out);
  /// Bytes of a Payload.
  bool PayloadBytes(std::string_view bytes, std::string_view* out);
  bool FailAt(const char* at, std::string what) { return Fail(at, std::move(what)); }

 private:
  struct Mesh;
  struct Tile;
  bool Fail(const char* at, std::string what) {
    if (problem_.what.empty()) problem_ = {std::move(what), at};
    return false;
  }
  bool Done(const WireReader& reader) {
    return reader.problem().what == nullptr || Fail(reader.problem().at, reader.problem().what);
  }
  bool Ints(const WireField& field, std::vector<int64_t>* out);
  bool SingleSharding(std::string_view bytes, int depth, TextBuffer* out);
  bool ReadTile(std::string_view bytes, Tile* tile);
  bool CheckTile(const Tile& tile, const char* at);
  void AppendTile(const Tile& tile, TextBuffer* out);
  bool AppendMetadataList(const std::vector<std::string_view>& metadata, TextBuffer* out);
  bool NamedSharding(std::string_view bytes, TextBuffer* out);
  bool ReadMesh(std::string_view bytes, Mesh* mesh);
  bool AppendMesh(const Mesh& mesh, TextBuffer* out);
  bool AppendAxis(const Mesh& mesh, std::string_view bytes, TextBuffer* out);
  bool AppendAxes(const Mesh& mesh, const std::vector<std::string_view>& axes, TextBuffer* out);
  bool AppendDimension(const Mesh& mesh, std::string_view bytes, TextBuffer* out);

  const std::vector<std::string_view>* payloads_;
  TextProblem problem_;
  bool lossy_ = false;
  std::vector<std::pair<std::string_view, std::string_view>> pairs_;  // scratch
};

/// Merges what stays together in an iota list (hlo-text.md section 8.11). False when `perm` is no
/// permutation of `dims`.
bool CanonicalIota(std::vector<int64_t>* dims, std::vector<int64_t>* perm);

void AppendIntList(std::span<const int64_t> values, TextBuffer* out);  // 1,2,3

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_ATTRIBUTE_TEXT_H_
