// Who runs what, in which order, on which devices, and when is a value freed?
#include "src/eval/engine.h"

#include <algorithm>
#include <cstring>

#include "fmt/format.h"
#include "src/eval/function.h"

namespace hlokit::eval {
namespace {

/// Calls nest at most this deep; deeper modules are refused.
constexpr int kMaxDepth = 400;

/// Leaves of a value in row-major order, for observers.
class Observed : public ObservedValue {
 public:
  Observed(Engine& engine, InstId id, const Value& value)
      : engine_(engine), id_(id), value_(value) {}
  HostLeaves Leaves() const override {
    std::vector<Value> leaves;
    Engine::AppendLeaves(value_, &leaves);
    HostLeaves out;
    for (const Value& leaf : leaves) {
      HostArray array{engine_.shapes().type(leaf.shape), {}, {}};
      if (engine_.shapes().IsArray(leaf.shape)) {
        std::span<const int64_t> sizes = engine_.shapes().sizes(leaf.shape);
        array.sizes.assign(sizes.begin(), sizes.end());
        if (Result<std::shared_ptr<Storage>> bytes = engine_.Logical(id_, leaf)) {
          array.bytes.assign((*bytes)->data(), (*bytes)->data() + (*bytes)->size());
        }
      }
      out.push_back(std::move(array));
    }
    return out;
  }

 private:
  Engine& engine_;
  InstId id_;
  const Value& value_;
};

}  // namespace

std::unexpected<Error> OpContext::Refuse(std::string_view why) const {
  return engine.Refuse(id, why);
}

Engine::Engine(const Module& module, const EvalOptions& options)
    : module_(module),
      options_(options),
      device_count_(options.devices > 0 ? options.devices : DeviceCount(module)),
      position_(module.instruction_count()),
      plans_(module.computation_count()),
      noted_(module.instruction_count()) {
  meter_->limit = options.max_bytes;
  if (options.effects != nullptr) FindWhatHandsOut();
}

void Engine::FindWhatHandsOut() {
  hands_out_.resize(module_.computation_count());
  std::vector<std::vector<CompId>> callers(module_.computation_count());
  std::vector<CompId> open;
  for (CompId computation : module_.computation_order()) {
    for (InstId id : module_.computation(computation).instructions) {
      for (CompId callee : module_.called_computations(id)) {
        callers[callee.value].push_back(computation);
      }
      const Opcode opcode = module_.opcode(id);
      if (opcode == Opcode::kOutfeed || opcode == Opcode::kSend) open.push_back(computation);
    }
  }
  while (!open.empty()) {
    const CompId computation = open.back();
    open.pop_back();
    if (hands_out_[computation.value]) continue;
    hands_out_[computation.value] = true;
    const std::vector<CompId>& more = callers[computation.value];
    open.insert(open.end(), more.begin(), more.end());
  }
}

std::unexpected<Error> Engine::Refuse(InstId id, std::string_view why, DiagId code) const {
  return MakeError(
      ExitCode::kUnsupported, code,
      fmt::format("{} ({}): {}", module_.name(id), Info(module_.opcode(id)).text, why));
}

Status Engine::AddWork(InstId id, int64_t elements) {
  work_ += static_cast<uint64_t>(std::max<int64_t>(elements, 1));
  if (work_ <= options_.max_work) return {};
  std::unexpected<Error> error = Refuse(
      id, fmt::format("gave up after {} computed elements", options_.max_work), DiagId::kEvalWork);
  error.error().diagnostics[0].help = "a loop may not end; --max-work allows more";
  return error;
}

void Engine::NoteStandIn(InstId id, std::string_view what) {
  if (options_.stand_ins == nullptr || noted_[id.value]) return;
  noted_[id.value] = true;
  options_.stand_ins->push_back(
      fmt::format("{} ({}): {}", module_.name(id), Info(module_.opcode(id)).text, what));
}

const Engine::Plan& Engine::PlanOf(CompId computation) {
  std::unique_ptr<Plan>& plan = plans_[computation.value];
  if (plan != nullptr) return *plan;
  plan = std::make_unique<Plan>();
  // Depth-first from the root with a stack of (instruction, next operand).
  enum : uint32_t { kUnseen = 0xffffffffu, kOpen = 0xfffffffeu };
  for (InstId id : module_.computation(computation).instructions) position_[id.value] = kUnseen;
  std::vector<InstId> wanted;
  if (options_.effects != nullptr && hands_out_[computation.value]) {
    for (InstId id : module_.computation(computation).instructions) {
      const Opcode opcode = module_.opcode(id);
      bool leaves = opcode == Opcode::kOutfeed || opcode == Opcode::kSend;
      for (CompId callee : module_.called_computations(id)) {
        leaves = leaves || hands_out_[callee.value];
      }
      if (leaves) wanted.push_back(id);
    }
  }
  wanted.push_back(module_.computation(computation).root);
  std::vector<std::pair<InstId, uint32_t>> stack;
  for (InstId id : wanted) {
    if (position_[id.value] != kUnseen) continue;
    stack.emplace_back(id, 0);
    position_[id.value] = kOpen;
    while (!stack.empty()) {
      auto& [top, next] = stack.back();
      if (next < module_.operand_count(top)) {
        const InstId operand = module_.operand(top, next++);
        if (position_[operand.value] != kUnseen) continue;
        position_[operand.value] = kOpen;
        stack.emplace_back(operand, 0);
        continue;
      }
      position_[top.value] = static_cast<uint32_t>(plan->order.size());
      plan->order.push_back(top);
      stack.pop_back();
    }
  }
  plan->root = position_[module_.computation(computation).root.value];
  plan->dead.resize(plan->order.size());
  std::vector<bool> read(plan->order.size());
  read[plan->root] = true;  // handed to the caller
  for (size_t i = plan->order.size(); i-- > 0;) {
    for (InstId operand : module_.operands(plan->order[i])) {
      const uint32_t at = position_[operand.value];
      if (!read[at]) plan->dead[i].push_back(at);
      read[at] = true;
    }
  }
  return *plan;
}

const DeviceValues& Engine::Operand(const Frame& frame, InstId id, uint32_t index) const {
  return frame.slots[position_[module_.operand(id, index).value]];
}

Status Engine::Run(CompId computation, std::span<const uint32_t> devices,
                   std::span<const DeviceValues> arguments, DeviceValues* result) {
  const InstId root = module_.computation(computation).root;
  if (depth_ >= kMaxDepth) return Refuse(root, "calls nest too deep");
  ++depth_;
  const Plan& plan = PlanOf(computation);
  Frame frame{devices, std::vector<DeviceValues>(plan.order.size()), arguments};
  Status status;
  for (size_t i = 0; status && i < plan.order.size(); ++i) {
    status = RunInstruction(frame, plan.order[i], &frame.slots[i]);
    for (uint32_t dead : plan.dead[i]) DeviceValues().swap(frame.slots[dead]);
  }
  if (status) *result = std::move(frame.slots[plan.root]);
  --depth_;
  return status;
}

Status Engine::RunFused(CompId computation, std::span<const uint32_t> devices,
                        std::span<const DeviceValues> arguments, DeviceValues* result) {
  ++fusions_;
  Status status = Run(computation, devices, arguments, result);
  --fusions_;
  return status;
}

Status Engine::RunInstruction(Frame& frame, InstId id, DeviceValues* out) {
  TRY(AddWork(id, 1));
  if (ValueHandler handler = FindValueHandler(module_.opcode(id))) {
    TRY(handler(*this, frame, id, out));
  } else if (ArrayHandler array_handler = FindArrayHandler(module_.opcode(id))) {
    out->resize(frame.devices.size());
    for (size_t lane = 0; lane < frame.devices.size(); ++lane) {
      TRY(RunArray(frame, id, array_handler, lane, &(*out)[lane]));
    }
  } else {
    return Refuse(id, "the evaluator does not know this operation");
  }
  Observe(frame, id, *out);
  return {};
}

Status Engine::RunArray(Frame& frame, InstId id, ArrayHandler handler, size_t lane, Value* out) {
  OpContext context{*this, module_, id, frame.devices[lane], {}, {}};
  std::vector<std::shared_ptr<Storage>> kept;
  for (uint32_t i = 0; i < module_.operand_count(id); ++i) {
    const Value& value = Operand(frame, id, i)[lane];
    const ShapeId declared = module_.shape(module_.operand(id, i));
    if (!shapes().IsArray(value.shape)) {
      if (shapes().IsTuple(value.shape)) return Refuse(id, "an operand is a tuple");
      context.in.push_back({});
      continue;
    }
    if (!shapes().Compatible(value.shape, declared)) {
      return Refuse(id, "an operand has another shape than its instruction says");
    }
    ASSIGN_OR_RETURN(std::shared_ptr<Storage> logical, Logical(id, value));
    context.in.push_back(View(value, *logical));
    kept.push_back(std::move(logical));
  }
  std::vector<Value> leaves;
  std::vector<std::shared_ptr<Storage>> results;
  for (ShapeId leaf : shapes().Subshapes(module_.shape(id))) {
    if (shapes().IsTuple(leaf)) continue;
    leaves.push_back({leaf, nullptr, nullptr});
    results.emplace_back();
    if (!shapes().IsArray(leaf)) continue;
    const int64_t count = shapes().ElementCount(leaf);
    for (int64_t size : shapes().sizes(leaf)) {
      if (size == kUnboundedSize) return Refuse(id, "the result has a size without a bound");
    }
    TRY(AddWork(id, count));
    const int width = StorageBytes(shapes().type(leaf));
    if (count > (int64_t{1} << 56)) return Refuse(id, "the result is too large");
    ASSIGN_OR_RETURN(results.back(), Allocate(id, static_cast<uint64_t>(count * width)));
    context.out.push_back(View(leaves.back(), *results.back()));
  }
  TRY(handler(context));
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (results[i] == nullptr) continue;
    ASSIGN_OR_RETURN(leaves[i], Store(id, leaves[i].shape, std::move(results[i])));
  }
  *out = FromLeaves(module_.shape(id), leaves);
  return {};
}

void Engine::Observe(const Frame& frame, InstId id, const DeviceValues& values) {
  if (!options_.observer || quiet_) return;
  for (size_t lane = 0; lane < values.size(); ++lane) {
    options_.observer(id, frame.devices[lane], Observed(*this, id, values[lane]));
  }
}

}  // namespace hlokit::eval
