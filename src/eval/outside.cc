// What the module says nothing about: custom calls, infeed, other hosts. Their values are made up,
// always the same for the same logical inputs, so that two versions of a module can be compared.
#include <algorithm>
#include <functional>
#include <string_view>

#include "src/eval/value_handlers.h"

namespace hlokit::eval {
namespace {

/// Custom calls that only mark their operand.
constexpr std::string_view kIdentities[] = {
    "AllocateBuffer.Identity",   "LayoutConstraint", "MoveToDevice", "MoveToHost", "Sharding",
    "annotate_device_placement",
};

uint64_t HashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

/// Notes what a device hands to the outside.
Status NoteEffect(Engine& e, InstId id, const Value& value, uint64_t seed) {
  if (e.options().effects == nullptr) return {};
  ASSIGN_OR_RETURN(const uint64_t hash, e.Hash(id, value, seed));
  e.options().effects->push_back(hash);
  return {};
}

}  // namespace

Status Token(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  ASSIGN_OR_RETURN(const Value token, e.Zero(id, e.module().shape(id)));
  out->assign(frame.devices.size(), token);
  return {};
}

Status Outfeed(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const Module& module = e.module();
  const Attr* shape = module.FindAttr(id, AttrKind::kOutfeedShape);
  for (size_t lane = 0; lane < frame.devices.size(); ++lane) {
    Value value = e.Operand(frame, id, 0)[lane];
    if (shape != nullptr && module.shapes().Compatible(value.shape, ShapeId(shape->low))) {
      ASSIGN_OR_RETURN(value, e.PassOn(id, value, ShapeId(shape->low)));
    }
    TRY(NoteEffect(e, id, value, frame.devices[lane]));
  }
  return Token(e, frame, id, out);
}

Status Infeed(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  e.NoteStandIn(id, "the data that is fed in is made up");
  ASSIGN_OR_RETURN(const Value value,
                   e.MadeUp(id, e.module().shape(id),
                            HashText(e.module().TextAttr(id, AttrKind::kInfeedConfig))));
  out->assign(frame.devices.size(), value);
  return {};
}

Status Send(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const ShapePool& shapes = e.shapes();
  const ShapeId shape = e.module().shape(id);
  if (!shapes.IsTuple(shape) || shapes.element_count(shape) == 0) {
    return e.Refuse(id, "the result is not (data, context, token)");
  }
  out->resize(frame.devices.size());
  for (size_t lane = 0; lane < out->size(); ++lane) {
    std::vector<Value> elements;
    ASSIGN_OR_RETURN(Value data,
                     e.PassOn(id, e.Operand(frame, id, 0)[lane], shapes.element(shape, 0)));
    TRY(NoteEffect(e, id, data,
                   static_cast<uint64_t>(e.module().IntAttr(id, AttrKind::kChannelId)) << 32 |
                       frame.devices[lane]));
    elements.push_back(std::move(data));
    for (uint32_t i = 1; i < shapes.element_count(shape); ++i) {
      ASSIGN_OR_RETURN(Value rest, e.Zero(id, shapes.element(shape, i)));
      elements.push_back(std::move(rest));
    }
    (*out)[lane] = e.Tuple(shape, std::move(elements));
  }
  return {};
}

Status Recv(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  e.NoteStandIn(id, "the data that is received is made up");
  const uint64_t channel = static_cast<uint64_t>(e.module().IntAttr(id, AttrKind::kChannelId));
  ASSIGN_OR_RETURN(const Value value, e.MadeUp(id, e.module().shape(id), channel));
  out->assign(frame.devices.size(), value);
  return {};
}

Status RecvDone(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const ShapePool& shapes = e.shapes();
  const ShapeId shape = e.module().shape(id);
  const DeviceValues& started = e.Operand(frame, id, 0);
  out->resize(frame.devices.size());
  for (size_t lane = 0; lane < out->size(); ++lane) {
    if (started[lane].elements == nullptr || started[lane].elements->empty() ||
        !shapes.IsTuple(shape) || shapes.element_count(shape) != 2) {
      return e.Refuse(id, "the operand is not (data, context, token)");
    }
    ASSIGN_OR_RETURN(Value data,
                     e.PassOn(id, (*started[lane].elements)[0], shapes.element(shape, 0)));
    ASSIGN_OR_RETURN(Value token, e.Zero(id, shapes.element(shape, 1)));
    std::vector<Value> elements = {std::move(data), std::move(token)};
    (*out)[lane] = e.Tuple(shape, std::move(elements));
  }
  return {};
}

Status CustomCall(Engine& e, Frame& frame, InstId id, DeviceValues* out) {
  const Module& module = e.module();
  const std::string_view target = module.TextAttr(id, AttrKind::kCustomCallTarget);
  const bool identity =
      module.operand_count(id) == 1 &&
      std::find(std::begin(kIdentities), std::end(kIdentities), target) != std::end(kIdentities) &&
      module.shapes().Compatible(module.shape(id), module.shape(module.operand(id, 0)));
  std::span<const ShapeId> constraints;
  if (module.IsLayoutConstrainedCustomCall(id)) constraints = module.operand_layout_constraints(id);
  if (!identity) e.NoteStandIn(id, "a custom call is a made-up function of its operands");
  out->resize(frame.devices.size());
  for (size_t lane = 0; lane < out->size(); ++lane) {
    uint64_t hash =
        HashText(target) ^ (HashText(module.TextAttr(id, AttrKind::kBackendConfig)) << 1);
    for (uint32_t i = 0; i < module.operand_count(id); ++i) {
      Value value = e.Operand(frame, id, i)[lane];
      if (i < constraints.size()) {
        ASSIGN_OR_RETURN(value, e.PassOn(id, value, constraints[i]));
      }
      if (identity) {
        ASSIGN_OR_RETURN((*out)[lane], e.Relayout(id, value, module.shape(id)));
        break;
      }
      ASSIGN_OR_RETURN(hash, e.Hash(id, value, hash + i));
    }
    if (identity) continue;
    ASSIGN_OR_RETURN((*out)[lane], e.MadeUp(id, module.shape(id), hash));
  }
  return {};
}

}  // namespace hlokit::eval
