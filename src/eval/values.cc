// How are values made, read, passed on and taken apart?
#include <algorithm>
#include <cstring>

#include "fmt/format.h"
#include "hlokit/float_codec.h"
#include "src/eval/engine.h"
#include "src/eval/inputs.h"

namespace hlokit::eval {
namespace {

uint64_t Mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

Result<const PhysicalOrder*> Engine::Order(InstId id, ShapeId array) {
  std::unique_ptr<PhysicalOrder>& order = orders_[array.value];
  if (order == nullptr) {
    // Tables of places are as long as the dimensions: too large arrays are refused before.
    const int64_t bytes = shapes().LogicalBytes(array);
    if (bytes < 0 || static_cast<uint64_t>(bytes) > meter_->limit) {
      return Refuse(id, fmt::format("{} takes more memory than allowed", shapes().Text(array)),
                    DiagId::kEvalMemory);
    }
    std::optional<PhysicalOrder> made = OrderOf(shapes(), array);
    if (!made) {
      return Refuse(id, fmt::format("the tiles of {} are not known", shapes().Text(array)));
    }
    order = std::make_unique<PhysicalOrder>(std::move(*made));
  }
  return order.get();
}

Result<std::shared_ptr<Storage>> Engine::Allocate(InstId id, uint64_t bytes) {
  if (bytes > meter_->limit || meter_->live > meter_->limit - bytes) {
    std::unexpected<Error> error =
        Refuse(id,
               fmt::format("needs {} bytes more while {} are in use, and {} are allowed", bytes,
                           meter_->live, meter_->limit),
               DiagId::kEvalMemory);
    error.error().diagnostics[0].help = "--max-bytes allows more";
    return error;
  }
  return std::make_shared<Storage>(meter_, bytes);
}

Result<Value> Engine::Store(InstId id, ShapeId shape, const std::byte* logical) {
  const int64_t count = shapes().ElementCount(shape);
  if (count > (int64_t{1} << 56)) return Refuse(id, "the array is too large");
  ASSIGN_OR_RETURN(const PhysicalOrder* const order, Order(id, shape));
  ASSIGN_OR_RETURN(std::shared_ptr<Storage> bytes, Allocate(id, order->bytes));
  Pack(shapes(), shape, *order, logical, bytes->data());
  return Value{shape, std::move(bytes), nullptr};
}

Result<Value> Engine::Store(InstId id, ShapeId shape, std::shared_ptr<Storage> logical) {
  ASSIGN_OR_RETURN(const PhysicalOrder* const order, Order(id, shape));
  if (order->row_major) return Value{shape, std::move(logical), nullptr};
  return Store(id, shape, logical->data());
}

Result<std::shared_ptr<Storage>> Engine::Logical(InstId id, const Value& value) {
  ASSIGN_OR_RETURN(const PhysicalOrder* const order, Order(id, value.shape));
  if (order->row_major) return value.bytes;
  const int64_t count = shapes().ElementCount(value.shape);
  const int width = StorageBytes(shapes().type(value.shape));
  ASSIGN_OR_RETURN(std::shared_ptr<Storage> out,
                   Allocate(id, static_cast<uint64_t>(count * width)));
  Unpack(shapes(), value.shape, *order, value.bytes->data(), out->data());
  return out;
}

ArrayView Engine::View(const Value& value, Storage& logical) const {
  return {shapes().type(value.shape), shapes().sizes(value.shape), logical.data(),
          shapes().ElementCount(value.shape)};
}

Value Engine::Tuple(ShapeId shape, std::vector<Value> elements) const {
  return {shape, nullptr, std::make_shared<const std::vector<Value>>(std::move(elements))};
}

void Engine::AppendLeaves(const Value& value, std::vector<Value>* leaves) {
  std::vector<const Value*> stack = {&value};
  while (!stack.empty()) {
    const Value* top = stack.back();
    stack.pop_back();
    if (top->elements == nullptr) {
      leaves->push_back(*top);
      continue;
    }
    for (size_t i = top->elements->size(); i-- > 0;) stack.push_back(&(*top->elements)[i]);
  }
}

Value Engine::FromLeaves(ShapeId shape, std::span<const Value> leaves) const {
  if (!shapes().IsTuple(shape)) return leaves[0];
  // From the back: a tuple takes what its elements left on the stack.
  const std::vector<ShapeId> nodes = shapes().Subshapes(shape);
  std::vector<Value> stack;
  size_t next = leaves.size();
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!shapes().IsTuple(nodes[i])) {
      stack.push_back(leaves[--next]);
      continue;
    }
    const size_t count = shapes().element_count(nodes[i]);
    std::vector<Value> elements(stack.rbegin(), stack.rbegin() + static_cast<int64_t>(count));
    stack.resize(stack.size() - count);
    stack.push_back(Tuple(nodes[i], std::move(elements)));
  }
  return stack[0];
}

Result<Value> Engine::Relayout(InstId id, const Value& value, ShapeId shape) {
  // A tuple made inside a fusion may hold other layouts than its shape says.
  if (value.shape == shape && !shapes().IsTuple(shape)) return value;
  std::vector<Value> leaves;
  AppendLeaves(value, &leaves);
  size_t next = 0;
  for (ShapeId wanted : shapes().Subshapes(shape)) {
    if (shapes().IsTuple(wanted)) continue;
    if (next == leaves.size()) return Refuse(id, "a tuple has another structure");
    Value& leaf = leaves[next++];
    if (leaf.shape == wanted) continue;
    if (!shapes().Compatible(leaf.shape, wanted)) return Refuse(id, "a value has another shape");
    if (!shapes().IsArray(wanted)) continue;
    if (shapes().layout(leaf.shape) == shapes().layout(wanted)) {
      leaf.shape = wanted;
      continue;
    }
    ASSIGN_OR_RETURN(std::shared_ptr<Storage> logical, Logical(id, leaf));
    ASSIGN_OR_RETURN(leaf, Store(id, wanted, std::move(logical)));
  }
  if (next != leaves.size()) return Refuse(id, "a tuple has another structure");
  return FromLeaves(shape, leaves);
}

Result<Value> Engine::PassOn(InstId id, const Value& value, ShapeId declared) {
  if (value.shape == declared) return value;
  if (!shapes().Compatible(value.shape, declared)) return Refuse(id, "a value has another shape");
  if (!options_.strict_layouts || fusions_ > 0) return value;
  std::vector<Value> leaves;
  AppendLeaves(value, &leaves);
  size_t next = 0;
  for (ShapeId wanted : shapes().Subshapes(declared)) {
    if (shapes().IsTuple(wanted)) continue;
    Value& leaf = leaves[next++];
    if (leaf.shape == wanted || !shapes().IsArray(wanted)) continue;
    const LayoutId from = shapes().layout(leaf.shape), to = shapes().layout(wanted);
    // Inside fusions most values have no layout: they are not bytes anywhere.
    if (!from.valid() || !to.valid() || shapes().SameOrder(from, to)) {
      ASSIGN_OR_RETURN(leaf, Relayout(id, leaf, wanted));
      continue;
    }
    ASSIGN_OR_RETURN(const PhysicalOrder* const order, Order(id, wanted));
    if (order->bytes != leaf.bytes->size()) {
      return Refuse(id,
                    fmt::format("{} bytes are read as {}, which takes {}", leaf.bytes->size(),
                                shapes().Text(wanted), order->bytes),
                    DiagId::kBytesDoNotFit);
    }
    leaf.shape = wanted;
  }
  return FromLeaves(declared, leaves);
}

Result<Value> Engine::Zero(InstId id, ShapeId shape) {
  std::vector<Value> leaves;
  for (ShapeId leaf : shapes().Subshapes(shape)) {
    if (shapes().IsTuple(leaf)) continue;
    Value value{leaf, nullptr, nullptr};
    if (shapes().IsArray(leaf)) {
      ASSIGN_OR_RETURN(const PhysicalOrder* const order, Order(id, leaf));
      ASSIGN_OR_RETURN(value.bytes, Allocate(id, order->bytes));
    }
    leaves.push_back(std::move(value));
  }
  return FromLeaves(shape, leaves);
}

Result<Value> Engine::MadeUp(InstId id, ShapeId shape, uint64_t seed) {
  std::vector<Value> leaves;
  for (ShapeId leaf : shapes().Subshapes(shape)) {
    if (shapes().IsTuple(leaf)) continue;
    Value value{leaf, nullptr, nullptr};
    if (shapes().IsArray(leaf)) {
      const int64_t count = shapes().ElementCount(leaf);
      if (count > (int64_t{1} << 56)) return Refuse(id, "the array is too large");
      const uint64_t width = static_cast<uint64_t>(StorageBytes(shapes().type(leaf)));
      ASSIGN_OR_RETURN(std::shared_ptr<Storage> logical,
                       Allocate(id, static_cast<uint64_t>(count) * width));
      FillModerate(shapes().type(leaf), logical->data(), count, Mix(seed + leaves.size()));
      TRY(AddWork(id, count));
      ASSIGN_OR_RETURN(value, Store(id, leaf, std::move(logical)));
    }
    leaves.push_back(std::move(value));
  }
  return FromLeaves(shape, leaves);
}

Result<uint64_t> Engine::Hash(InstId id, const Value& value, uint64_t seed) {
  std::vector<Value> leaves;
  AppendLeaves(value, &leaves);
  uint64_t hash = Mix(seed + leaves.size());
  for (const Value& leaf : leaves) {
    hash = Mix(hash + static_cast<uint64_t>(shapes().type(leaf.shape)));
    if (!shapes().IsArray(leaf.shape)) continue;
    for (int64_t size : shapes().sizes(leaf.shape)) hash = Mix(hash ^ static_cast<uint64_t>(size));
    ASSIGN_OR_RETURN(std::shared_ptr<Storage> logical, Logical(id, leaf));
    uint64_t word = 0;
    for (uint64_t at = 0; at < logical->size(); at += sizeof(word)) {
      word = 0;
      std::memcpy(&word, logical->data() + at,
                  std::min<uint64_t>(sizeof(word), logical->size() - at));
      hash = Mix(hash ^ word) + at;
    }
  }
  return hash;
}

}  // namespace hlokit::eval
