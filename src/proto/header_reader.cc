// What does the header of a module say: entry layout, aliases, donors, stack frames, recovery
// table?
#include <fmt/format.h>

#include <algorithm>

#include "module_reader.h"

namespace hlokit::proto {

bool ModuleReader::ReadHostProgramShape(std::string_view bytes) {
  ComputationLayout layout;
  WireReader reader(bytes);
  WireField field;
  std::string result;
  bool has_result = false;
  while (reader.Next(&field)) {
    if (field.type != kBytesType) continue;
    if (field.number == 1) {
      ShapeId shape;
      if (!Shape(field.bytes, &shape)) return false;
      layout.parameters.push_back(shape);
    } else if (field.number == 2) {
      result += field.bytes;
      has_result = true;
    }
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  if (!has_result) {
    return Fail(DiagId::kProtoMissingField, bytes.data(), "host_program_shape has no result");
  }
  ShapeReader shape_reader(&module_.shapes());
  layout.result = shape_reader.Read(result);
  if (!layout.result.valid()) {
    return Fail(DiagId::kProtoBadValue, bytes.data(),
                "host_program_shape: " + shape_reader.problem().what);
  }
  size_t parameters = module_.computation(module_.entry()).parameters.size();
  if (layout.parameters.size() != parameters) {
    return Fail(DiagId::kProtoBadValue, bytes.data(),
                fmt::format("host_program_shape has {} parameters, the entry computation {}",
                            layout.parameters.size(), parameters));
  }
  module_.config().entry_computation_layout = std::move(layout);
  module_.config().entry_computation_layout_given = true;
  return true;
}

bool ModuleReader::ReadAliases(std::string_view bytes) {
  WireReader reader(bytes);
  WireField entry;
  while (reader.Next(&entry)) {
    if (entry.number != 1 || entry.type != kBytesType) continue;
    InputOutputAlias alias;
    alias.kind = AliasKind::kMust;  // every kind but MAY_ALIAS, also when it is absent
    WireReader inner(entry.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number == 1 && !Ints(field, &alias.output_index)) return false;
      if (field.number == 2 && field.type == kVarint) alias.parameter_number = AsInt64(field.value);
      if (field.number == 3 && !Ints(field, &alias.parameter_index)) return false;
      if (field.number == 4 && field.type == kVarint)
        alias.kind = field.value == 1 ? AliasKind::kMay : AliasKind::kMust;
    }
    if (inner.problem().what != nullptr) return FailWire(inner.problem());
    const ComputationLayout& layout = *module_.config().entry_computation_layout;
    const ShapePool& shapes = module_.shapes();
    bool ok = alias.parameter_number >= 0 &&
              static_cast<size_t>(alias.parameter_number) < layout.parameters.size() &&
              shapes.PreorderOf(layout.result, alias.output_index).has_value() &&
              shapes.PreorderOf(layout.parameters[alias.parameter_number], alias.parameter_index)
                  .has_value();
    if (!ok) {
      return Fail(
          DiagId::kProtoBadValue, entry.raw.data(),
          "an entry of input_output_alias names a parameter or tuple index that does not exist");
    }
    module_.config().input_output_alias.push_back(std::move(alias));
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  std::vector<InputOutputAlias>& all = module_.config().input_output_alias;
  std::stable_sort(all.begin(), all.end(),
                   [](const InputOutputAlias& a, const InputOutputAlias& b) {
                     return a.output_index < b.output_index;  // pre-order
                   });
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].output_index == all[i - 1].output_index) {
      return Fail(DiagId::kProtoBadValue, bytes.data(),
                  "two entries of input_output_alias have the same output index");
    }
  }
  return true;
}

bool ModuleReader::ReadDonors(std::string_view bytes) {
  WireReader reader(bytes);
  WireField entry;
  while (reader.Next(&entry)) {
    if (entry.number != 1 || entry.type != kBytesType) continue;
    BufferDonor donor;
    WireReader inner(entry.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number == 1 && field.type == kVarint) donor.parameter_number = AsInt64(field.value);
      if (field.number == 2 && !Ints(field, &donor.parameter_index)) return false;
    }
    if (inner.problem().what != nullptr) return FailWire(inner.problem());
    module_.config().buffer_donors.push_back(std::move(donor));
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  std::vector<BufferDonor>& all = module_.config().buffer_donors;
  std::stable_sort(all.begin(), all.end(), [](const BufferDonor& a, const BufferDonor& b) {
    return std::tie(a.parameter_number, a.parameter_index) <
           std::tie(b.parameter_number, b.parameter_index);
  });
  return true;
}

bool ModuleReader::ReadFileLocation(std::string_view bytes, FileLocation* out) {
  int32_t* const targets[] = {nullptr,      &out->file_name_id, &out->function_name_id, &out->line,
                              &out->column, &out->end_line,     &out->end_column};
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number < std::size(targets) && field.type == kVarint)
      *targets[field.number] = AsInt32(field.value);
  }
  return reader.problem().what == nullptr || FailWire(reader.problem());
}

bool ModuleReader::ReadStackFrames(std::string_view bytes) {
  StackFrameIndex& index = module_.config().stack_frame_index;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.type != kBytesType) continue;
    switch (field.number) {
      case 1:
        index.file_names.emplace_back(field.bytes);
        break;
      case 2:
        index.function_names.emplace_back(field.bytes);
        break;
      case 3:
        if (!ReadFileLocation(field.bytes, &index.file_locations.emplace_back())) return false;
        break;
      case 4: {
        StackFrame& frame = index.stack_frames.emplace_back();
        WireReader inner(field.bytes);
        WireField part;
        while (inner.Next(&part)) {
          if (part.number == 1 && part.type == kVarint)
            frame.file_location_id = AsInt32(part.value);
          if (part.number == 2 && part.type == kVarint) frame.parent_frame_id = AsInt32(part.value);
        }
        if (inner.problem().what != nullptr) return FailWire(inner.problem());
        break;
      }
      default:
        break;
    }
  }
  return reader.problem().what == nullptr || FailWire(reader.problem());
}

bool ModuleReader::ReadRecoveryTable(std::string_view bytes) {
  if (bytes.empty()) return true;
  buffer_.Truncate(0);
  WireReader reader(bytes);
  WireField entry;
  while (reader.Next(&entry)) {
    if (entry.number != 1 || entry.type != kBytesType) continue;
    std::string_view parts[3];
    bool present[3] = {};
    WireReader inner(entry.bytes);
    WireField field;
    while (inner.Next(&field)) {
      if (field.number > 3 || field.type != kBytesType) continue;
      parts[field.number - 1] = field.bytes;
      present[field.number - 1] = true;
    }
    if (inner.problem().what != nullptr) return FailWire(inner.problem());
    if (!RecoveryEntryText(parts, present, &text_, &buffer_)) return TextFailed();
  }
  if (reader.problem().what != nullptr) return FailWire(reader.problem());
  module_.config().origin_recovery_table = std::string(buffer_.View(0));
  return true;
}

}  // namespace hlokit::proto
