// How are the values of literals read from and written to LiteralProto?
#ifndef HLOKIT_SRC_PROTO_LITERAL_WIRE_H_
#define HLOKIT_SRC_PROTO_LITERAL_WIRE_H_

#include <string>
#include <string_view>

#include "hlokit/module.h"
#include "shape_wire.h"

namespace hlokit::proto {

struct LiteralProblem {
  std::string what;  ///< empty = none
  const char* at = nullptr;
  bool broken = false;
};

/// Reads a LiteralProto into the module. `declared` is the shape of the instruction when the
/// literal belongs to a constant: structure, sizes and order of the layout must fit, and the
/// literal takes its bare form as shape. Otherwise the literal keeps the shape that it names. Sets
/// `lossy` when the message holds more than the module can keep.
bool ReadLiteral(std::string_view bytes, ShapeId declared, Module* module, LiteralId* out,
                 bool* lossy, LiteralProblem* problem);

/// Writes a literal; `shape` gives the layout (order of the elements) of each array leaf.
void AppendLiteralProto(const Module& module, LiteralId literal, ShapeId shape, std::string* out);

}  // namespace hlokit::proto

#endif  // HLOKIT_SRC_PROTO_LITERAL_WIRE_H_
