// How are shapes and layouts read from and written to their messages?
#ifndef HLOKIT_SRC_PROTO_SHAPE_WIRE_H_
#define HLOKIT_SRC_PROTO_SHAPE_WIRE_H_

#include <string>
#include <string_view>
#include <vector>

#include "hlokit/shape.h"
#include "wire.h"

namespace hlokit::proto {

/// Deepest nesting of shapes and literals that is read; protobuf libraries stop at about 100.
inline constexpr int kMaxDepth = 200;

/// kInvalid when no element type has this number.
ElementType ElementTypeFromProto(uint64_t number);

/// What is wrong with a shape; `what` empty = nothing.
struct ShapeProblem {
  std::string what;
  const char* at = nullptr;
  bool broken = false;    ///< the bytes are no message
  bool too_deep = false;  ///< nested deeper than kMaxDepth
};

class ShapeReader {
 public:
  explicit ShapeReader(ShapePool* pool) : pool_(pool) {}
  /// Payload of a ShapeProto. Invalid when something is wrong; then problem() says what.
  ShapeId Read(std::string_view bytes) { return ReadAt(bytes, 0); }
  const ShapeProblem& problem() const { return problem_; }

 private:
  ShapeId ReadAt(std::string_view bytes, int depth);
  ShapeId Finish(uint64_t type, std::string_view layout, bool has_layout, const char* at,
                 size_t dims_begin, size_t dynamic_begin, size_t elements_begin);
  bool ReadLayout(std::string_view bytes, size_t rank, LayoutId* layout);
  bool ReadLayoutField(const WireField& field, LayoutExtras* extras);
  bool ReadLayoutNumber(const WireField& field, LayoutExtras* extras);
  ShapeId Fail(const char* at, std::string what);
  ShapeId FailWire(const WireReader& reader);

  ShapePool* pool_;
  ShapeProblem problem_;
  // Stacks shared by all levels of nesting.
  std::vector<int64_t> dims_;
  std::vector<uint8_t> dynamic_;
  std::vector<ShapeId> elements_;
  std::vector<int64_t> order_;
};

/// Payload of a ShapeProto; of a LayoutProto.
void AppendShape(const ShapePool& pool, ShapeId shape, std::string* out);
void AppendLayout(const ShapePool& pool, LayoutId layout, std::string* out);

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_SHAPE_WIRE_H_
