// Which attributes that are lists does an instruction get: slices, padding, windows, pairs,
// aliasing?
#include <fmt/format.h>

#include <algorithm>

#include "module_reader.h"

namespace hlokit::proto {

bool ModuleReader::ReadSlices(AttrKind kind) {
  ints_.clear();
  bool ok = fields_.ForEach(17, [&](const WireField& range) {
    int64_t values[3] = {0, 0, 0};
    WireReader reader(range.bytes);
    WireField field;
    while (reader.Next(&field)) {
      if (field.number <= 3 && field.type == kVarint) {
        values[field.number - 1] = AsInt64(field.value);
      } else {
        lossy_ = true;
      }
    }
    if (reader.problem().what != nullptr) return FailWire(reader.problem());
    ints_.insert(ints_.end(), values, values + 3);
    return true;
  });
  return ok && AddInts(kind, true);
}

bool ModuleReader::ReadPadding(AttrKind kind) {
  ints_.clear();
  WireReader reader(fields_.Message(21));
  WireField dimension;
  while (reader.Next(&dimension)) {
    if (dimension.number != 1 || dimension.type != kBytesType) {
      lossy_ = true;
      continue;
    }
    int64_t values[3] = {0, 0, 0};
    WireReader inner(dimension.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number <= 3 && field.type == kVarint) {
        values[field.number - 1] = AsInt64(field.value);
      } else {
        lossy_ = true;
      }
    }
    if (inner.problem().what != nullptr) return FailWire(inner.problem());
    if (values[2] < 0)
      return Fail(DiagId::kProtoBadValue, dimension.raw.data(), "an interior padding is negative");
    ints_.insert(ints_.end(), values, values + 3);
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  return AddInts(kind, true);
}

bool ModuleReader::ReadWindow(AttrKind kind) {
  if (!fields_.Has(15)) return true;
  // Field numbers of WindowDimension in the order of WindowField.
  static constexpr WindowField kOrder[8] = {
      kWindowFields,  kWindowSize,           kWindowStride,       kWindowPadLow,
      kWindowPadHigh, kWindowWindowDilation, kWindowBaseDilation, kWindowReversal};
  ints_.clear();
  WireReader reader(fields_.Message(15));
  WireField dimension;
  while (reader.Next(&dimension)) {
    if (dimension.number != 1 || dimension.type != kBytesType) {
      lossy_ = true;
      continue;
    }
    int64_t values[kWindowFields] = {};
    WireReader inner(dimension.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number <= 7 && field.type == kVarint) {
        values[kOrder[field.number]] = AsInt64(field.value);
      } else {
        lossy_ = true;
      }
    }
    if (inner.problem().what != nullptr) return FailWire(inner.problem());
    ints_.insert(ints_.end(), values, values + kWindowFields);
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  return AddInts(kind, fields_.Has(28));  // an empty one shows on custom calls only
}

bool ModuleReader::ReadPairs(AttrKind kind) {
  buffer_.Truncate(0);
  buffer_.Append('{');
  bool first = true;
  bool ok = fields_.ForEach(52, [&](const WireField& pair) {
    int64_t values[2] = {0, 0};
    WireReader reader(pair.bytes);
    WireField field;
    while (reader.Next(&field)) {
      if (field.number <= 2 && field.type == kVarint) {
        values[field.number - 1] = AsInt64(field.value);
      } else {
        lossy_ = true;
      }
    }
    if (reader.problem().what != nullptr) return FailWire(reader.problem());
    buffer_.Append(first ? "{" : ",{");
    first = false;
    AppendIntList(values, &buffer_);
    buffer_.Append('}');
    return true;
  });
  if (!ok) return false;
  buffer_.Append('}');
  attrs_.push_back(module_.TextAttribute(kind, buffer_.View(0)));
  return true;
}

bool ModuleReader::ReadSliceSizes(AttrKind kind) {
  if (!fields_.Has(20)) return true;
  if (!fields_.Ints(20, &ints_))
    return Fail(DiagId::kProtoBroken, instruction_bytes_.data(), "a list is broken");
  if (ints_.empty()) return true;
  // Flattened; each slice has as many sizes as the operand that it is taken from has dimensions.
  buffer_.Truncate(0);
  buffer_.Append('{');
  const ShapePool& shapes = module_.shapes();
  std::vector<uint32_t> ranks;
  if (!operands_.empty()) {
    ShapeId source = module_.shape(operands_[0]);
    if (shapes.IsTuple(source)) {
      for (uint32_t i = 0; i < shapes.element_count(source); ++i)
        ranks.push_back(shapes.rank(shapes.element(source, i)));
    } else {
      ranks.push_back(shapes.rank(source));
    }
  }
  size_t at = 0;
  for (size_t slice = 0; at < ints_.size(); ++slice) {
    size_t size = slice < ranks.size() ? ranks[slice] : (ranks.empty() ? 0 : ranks.back());
    if (size == 0 || at + size > ints_.size()) {
      return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                  "the slice sizes do not fit the operands");
    }
    buffer_.Append(at == 0 ? "{" : ",{");
    AppendIntList({ints_.data() + at, size}, &buffer_);
    buffer_.Append('}');
    at += size;
  }
  buffer_.Append('}');
  attrs_.push_back(module_.TextAttribute(kind, buffer_.View(0)));
  return true;
}

bool ModuleReader::ReadAliasing(AttrKind kind) {
  if (!fields_.Has(74)) return true;
  std::vector<int64_t> encoded;
  bool ok = fields_.ForEach(74, [&](const WireField& pair) {
    std::vector<int64_t> output;
    std::vector<int64_t> operand;
    int64_t number = 0;
    WireReader reader(pair.bytes);
    WireField field;
    while (reader.Next(&field)) {
      if (field.number == 1) {
        if (!Ints(field, &output)) return false;
      } else if (field.number == 2 && field.type == kVarint) {
        number = AsInt64(field.value);
      } else if (field.number == 3) {
        if (!Ints(field, &operand)) return false;
      } else {
        lossy_ = true;
      }
    }
    if (reader.problem().what != nullptr) return FailWire(reader.problem());
    encoded.push_back(static_cast<int64_t>(output.size()));
    encoded.insert(encoded.end(), output.begin(), output.end());
    encoded.push_back(number);
    encoded.push_back(static_cast<int64_t>(operand.size()));
    encoded.insert(encoded.end(), operand.begin(), operand.end());
    return true;
  });
  if (!ok) return false;
  attrs_.push_back(module_.IntsAttribute(kind, encoded));
  return true;
}

bool ModuleReader::ReadShapeList(AttrKind kind) {
  refs_.clear();
  bool ok = fields_.ForEach(57, [&](const WireField& field) {
    ShapeId shape;
    if (!Shape(field.bytes, &shape)) return false;
    refs_.push_back(shape.value);
    return true;
  });
  if (!ok) return false;
  if (refs_.size() != operands_.size()) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("a custom call constrains {} layouts and has {} operands", refs_.size(),
                            operands_.size()));
  }
  attrs_.push_back(module_.RefsAttribute(kind, refs_));
  return true;
}

bool ModuleReader::ReadPrecision(Opcode opcode) {
  int64_t algorithm = 0;
  ints_.clear();
  WireReader reader(fields_.Message(51));
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1) {
      if (!Ints(field, &ints_)) return false;
    } else if (field.number == 2 && field.type == kVarint) {
      algorithm = AsInt64(field.value);
    } else {
      lossy_ = true;
    }
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  size_t wanted =
      opcode == Opcode::kRaggedDot || opcode == Opcode::kScaledDot ? 2 : operands_.size();
  if (ints_.size() != wanted) lossy_ = true;
  ints_.resize(wanted);
  bool any = false;
  for (int64_t value : ints_) {
    if (value < 0 || value > 2) {
      return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                  fmt::format("a precision has the unknown value {}", value));
    }
    any |= value != 0;
  }
  if (any) AddInts(AttrKind::kOperandPrecision, true);
  if (algorithm == 0) return true;
  if (algorithm < 0 || algorithm > 13) {
    return Fail(DiagId::kProtoBadValue, instruction_bytes_.data(),
                fmt::format("an algorithm has the unknown value {}", algorithm));
  }
  // The last one stands among its relatives in text.
  AddInt(AttrKind::kAlgorithm, algorithm == 13 ? 9 : algorithm >= 9 ? algorithm + 1 : algorithm);
  return true;
}

bool ModuleReader::ReadReplication() {
  if (!fields_.Has(61)) return true;
  ints_.clear();
  WireReader reader(fields_.Message(61));
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == 1) {
      if (!Ints(field, &ints_)) return false;
    } else {
      lossy_ = true;
    }
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  for (int64_t& value : ints_) value = value != 0;
  return AddInts(AttrKind::kParameterReplication, false);
}

}  // namespace hlokit::proto
