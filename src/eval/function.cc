// How is the scalar computation of reduce, map, sort, scatter and others applied many times?
#include "src/eval/function.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "src/eval/native.h"

namespace hlokit::eval {
namespace {

constexpr int64_t kBlock = 256;

bool IsScalar(const ShapePool& shapes, ShapeId shape) {
  return shapes.IsArray(shape) && shapes.rank(shape) == 0;
}

bool IsScalarMove(Opcode opcode) {
  return opcode == Opcode::kCopy || opcode == Opcode::kReshape || opcode == Opcode::kTranspose ||
         opcode == Opcode::kBroadcast || opcode == Opcode::kOptimizationBarrier;
}

Opcode PlainBinary(const Module& module, CompId computation) {
  const ComputationData& data = module.computation(computation);
  const std::span<const InstId> operands = module.operands(data.root);
  if (data.parameters.size() != 2 || operands.size() != 2) return Opcode::kUnknown;
  const bool straight = operands[0] == data.parameters[0] && operands[1] == data.parameters[1];
  const bool crossed = operands[0] == data.parameters[1] && operands[1] == data.parameters[0];
  return straight || crossed ? module.opcode(data.root) : Opcode::kUnknown;
}

}  // namespace

Result<Function> Function::Make(OpContext& context, CompId computation) {
  const Module& module = context.module;
  const ShapePool& shapes = module.shapes();
  Function function(context);
  function.device_ = context.device;
  function.computation_ = computation;
  for (InstId parameter : module.computation(computation).parameters) {
    const ShapeId shape = module.shape(parameter);
    if (!IsScalar(shapes, shape)) return context.Refuse("the computation takes no scalars");
    function.parameter_types_.push_back(shapes.type(shape));
    function.parameter_shapes_.push_back(shape);
  }
  const ShapeId root = module.shape(module.computation(computation).root);
  for (ShapeId leaf : shapes.Subshapes(root)) {
    if (shapes.IsTuple(leaf)) continue;
    if (!IsScalar(shapes, leaf)) return context.Refuse("the computation gives no scalars");
    function.result_types_.push_back(shapes.type(leaf));
  }
  function.plain_binary_ = PlainBinary(module, computation);
  function.compiled_ = function.Compile(computation);
  return function;
}

bool Function::Compile(CompId computation) {
  const Module& module = engine_.module();
  const ShapePool& shapes = module.shapes();
  std::unordered_map<uint32_t, uint32_t> register_of;  // by instruction
  const auto add = [&](InstId id) {
    register_of[id.value] = static_cast<uint32_t>(registers_.size());
    registers_.emplace_back(
        static_cast<size_t>(kBlock * StorageBytes(shapes.type(module.shape(id)))));
  };
  for (InstId parameter : module.computation(computation).parameters) add(parameter);
  const Engine::Plan& plan = engine_.PlanOf(computation);
  for (InstId id : plan.order) {
    const Opcode opcode = module.opcode(id);
    if (opcode == Opcode::kParameter) continue;
    if (opcode == Opcode::kTuple && id == plan.order[plan.root]) break;
    if (!IsScalar(shapes, module.shape(id))) return false;
    if (opcode == Opcode::kConstant) {
      const LiteralId literal = module.literal_of(id);
      if (module.literal(literal).elided) return false;
      add(id);
      const std::span<const std::byte> bytes = module.literal_bytes(literal);
      std::vector<std::byte>& target = registers_.back();
      for (size_t at = 0; at + bytes.size() <= target.size(); at += bytes.size()) {
        std::memcpy(target.data() + at, bytes.data(), bytes.size());
      }
      WrapPacked(shapes.type(module.shape(id)), target.data(), kBlock);
      continue;
    }
    for (InstId operand : module.operands(id)) {
      if (!register_of.contains(operand.value)) return false;
    }
    if (IsScalarMove(opcode)) {
      register_of[id.value] = register_of[module.operand(id, 0).value];
      continue;
    }
    std::optional<ElementOp> op = ElementOp::Make(module, id);
    if (!op) return false;
    Step step{*op, {}, static_cast<uint32_t>(registers_.size())};
    for (uint32_t i = 0; i < module.operand_count(id); ++i) {
      step.in[i] = register_of[module.operand(id, i).value];
    }
    add(id);
    steps_.push_back(step);
  }
  const InstId root = plan.order[plan.root];
  if (shapes.IsTuple(module.shape(root))) {
    if (module.opcode(root) != Opcode::kTuple) return false;
    for (InstId operand : module.operands(root)) {
      if (!register_of.contains(operand.value)) return false;
      results_.push_back(register_of[operand.value]);
    }
  } else {
    if (!register_of.contains(root.value)) return false;
    results_.push_back(register_of[root.value]);
  }
  return results_.size() == result_types_.size();
}

Status Function::Apply(std::span<const std::byte* const> in, std::span<std::byte* const> out,
                       int64_t count) {
  TRY(engine_.AddWork(id_, count * static_cast<int64_t>(std::max<size_t>(steps_.size(), 1))));
  if (!compiled_) return RunSlowly(in, out, count);
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t n = std::min(kBlock, count - at);
    for (size_t i = 0; i < parameter_types_.size(); ++i) {
      const int64_t width = StorageBytes(parameter_types_[i]);
      std::memcpy(registers_[i].data(), in[i] + at * width, static_cast<size_t>(n * width));
    }
    for (const Step& step : steps_) {
      const std::byte* sources[3] = {};
      for (int i = 0; i < step.op.operands(); ++i) sources[i] = registers_[step.in[i]].data();
      step.op.Run(sources, registers_[step.out].data(), n);
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      const int64_t width = StorageBytes(result_types_[i]);
      std::memcpy(out[i] + at * width, registers_[results_[i]].data(),
                  static_cast<size_t>(n * width));
    }
  }
  return {};
}

Status Function::RunSlowly(std::span<const std::byte* const> in, std::span<std::byte* const> out,
                           int64_t count) {
  const bool quiet = std::exchange(engine_.quiet_, true);
  Status status;
  for (int64_t at = 0; status && at < count; ++at) {
    std::vector<DeviceValues> arguments(parameter_types_.size());
    for (size_t i = 0; status && i < parameter_types_.size(); ++i) {
      Result<Value> value =
          engine_.Store(id_, parameter_shapes_[i], in[i] + at * StorageBytes(parameter_types_[i]));
      if (!value) {
        status = std::unexpected(std::move(value).error());
      } else {
        arguments[i].push_back(std::move(*value));
      }
    }
    DeviceValues result;
    if (status) status = engine_.Run(computation_, {&device_, 1}, arguments, &result);
    if (!status) break;
    std::vector<Value> leaves;
    Engine::AppendLeaves(result[0], &leaves);
    for (size_t i = 0; i < result_types_.size(); ++i) {
      Result<std::shared_ptr<Storage>> logical = engine_.Logical(id_, leaves[i]);
      if (!logical) {
        status = std::unexpected(std::move(logical).error());
        break;
      }
      const int64_t width = StorageBytes(result_types_[i]);
      std::memcpy(out[i] + at * width, (*logical)->data(), static_cast<size_t>(width));
    }
  }
  engine_.quiet_ = quiet;
  return status;
}

Result<Function> MakeReducer(OpContext& c) {
  const size_t n = c.in.size() / 2;
  ASSIGN_OR_RETURN(Function function, Function::Make(c, c.module.to_apply(c.id)));
  if (function.parameters() != 2 * n || function.results() != n || c.out.size() != n) {
    return c.Refuse("the computation does not fit the operands");
  }
  for (size_t i = 0; i < n; ++i) {
    if (function.parameter_type(i) != c.out[i].type || function.result_type(i) != c.out[i].type ||
        function.parameter_type(n + i) != c.in[i].type || c.in[n + i].type != c.out[i].type) {
      return c.Refuse("the computation takes other types than the operands have");
    }
  }
  return function;
}

}  // namespace hlokit::eval
