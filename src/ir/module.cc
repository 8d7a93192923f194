// How is a module stored, and how is it edited?
#include "hlokit/module.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace hlokit {
namespace {

static_assert(sizeof(CompId) == sizeof(uint32_t) && sizeof(InstId) == sizeof(uint32_t) &&
              sizeof(ShapeId) == sizeof(uint32_t));

template <typename TypedId>
std::span<const TypedId> AsIds(std::span<const uint32_t> values) {
  return {reinterpret_cast<const TypedId*>(values.data()), values.size()};
}

}  // namespace

Module::Module() : shapes_(std::make_shared<ShapePool>()), text_(std::make_shared<TextArena>()) {}

Module Module::SharingPools(const Module& other) {
  Module fresh;
  fresh.shapes_ = other.shapes_;
  fresh.text_ = other.text_;
  return fresh;
}

// ---- computations ----

CompId Module::AddComputation(StrRef name) {
  CompId id(computations_.size());
  computations_.emplace_back();
  computations_.back().name = name;
  order_.push_back(id);
  return id;
}

std::vector<CompId> Module::walk_order() const {
  if (walk_order_.empty()) return order_;
  std::vector<CompId> out;
  std::vector<uint8_t> listed(computations_.size(), 0);
  for (CompId id : walk_order_) {
    listed[id.value] = 1;
    if (!computations_[id.value].dead) out.push_back(id);
  }
  for (CompId id : order_) {  // added since
    if (!listed[id.value] && !computations_[id.value].dead) out.push_back(id);
  }
  return out;
}

CompId Module::FindComputation(std::string_view name) const {
  if (!name.empty() && name.front() == '%') name.remove_prefix(1);
  for (CompId id : order_) {
    if (this->name(id) == name) return id;
  }
  return {};
}

InstId Module::FindInstruction(std::string_view name) const {
  if (!name.empty() && name.front() == '%') name.remove_prefix(1);
  for (uint32_t i = 0; i < names_.size(); ++i) {
    if (names_[i].length == name.size() && !dead_[i] && str(names_[i]) == name) return InstId(i);
  }
  return {};
}

// ---- attributes ----

double Module::FloatAttr(InstId id, AttrKind kind) const {
  return std::bit_cast<double>(IntAttr(id, kind));
}

std::span<const CompId> Module::called_computations(InstId id) const {
  const Attr* attr = FindAttr(id, AttrKind::kCalledComputations);
  return attr == nullptr ? std::span<const CompId>() : AsIds<CompId>(refs(*attr));
}

std::span<const InstId> Module::control_predecessors(InstId id) const {
  const Attr* attr = FindAttr(id, AttrKind::kControlPredecessors);
  return attr == nullptr ? std::span<const InstId>() : AsIds<InstId>(refs(*attr));
}

std::span<const ShapeId> Module::operand_layout_constraints(InstId id) const {
  const Attr* attr = FindAttr(id, AttrKind::kOperandLayoutConstraints);
  return attr == nullptr ? std::span<const ShapeId>() : AsIds<ShapeId>(refs(*attr));
}

std::vector<OperandAlias> Module::output_to_operand_aliasing(InstId id) const {
  // Per pair: length of the output index, the index, operand number, length of its index, the
  // index.
  std::vector<OperandAlias> out;
  std::span<const int64_t> code = IntsAttr(id, AttrKind::kOutputToOperandAliasing);
  while (!code.empty()) {
    OperandAlias alias;
    size_t length = static_cast<size_t>(code[0]);
    alias.output_index = code.subspan(1, length);
    alias.operand_number = code[1 + length];
    size_t operand_length = static_cast<size_t>(code[2 + length]);
    alias.operand_index = code.subspan(3 + length, operand_length);
    code = code.subspan(3 + length + operand_length);
    out.push_back(alias);
  }
  return out;
}

// ---- literals ----

LiteralId Module::AddLiteral(LiteralData data) {
  literals_.push_back(std::move(data));
  return LiteralId(literals_.size() - 1);
}

std::span<std::byte> Module::AllocateLiteralBytes(LiteralId id, uint64_t size) {
  literals_[id.value].offset = literal_bytes_.size();
  literals_[id.value].size = size;
  literal_bytes_.resize(literal_bytes_.size() + size);
  return {literal_bytes_.data() + literals_[id.value].offset, size};
}

// ---- edits ----

InstId Module::AddInstruction(CompId computation, Opcode opcode, ShapeId shape,
                              std::span<const InstId> operands, StrRef name,
                              uint32_t source_offset) {
  InstId id(opcodes_.size());
  opcodes_.push_back(opcode);
  dead_.push_back(0);
  attr_count_.push_back(0);
  attr_begin_.push_back(0);
  shape_.push_back(shape);
  operand_begin_.push_back(static_cast<uint32_t>(operand_pool_.size()));
  operand_count_.push_back(static_cast<uint32_t>(operands.size()));
  operand_pool_.insert(operand_pool_.end(), operands.begin(), operands.end());
  computation_of_.push_back(computation);
  names_.push_back(name);
  source_offset_.push_back(source_offset);
  computations_[computation.value].instructions.push_back(id);
  if (users_built_) {
    users_.emplace_back();
    for (uint32_t i = 0; i < operand_count(id); ++i) {
      // The newest user stands last: a second use finds itself there.
      InstId used = operand(id, i);
      const UserList& list = users_[used.value];
      if (list.count == 0 || user_pool_[list.begin + list.count - 1] != id) AddUser(used, id);
    }
  }
  return id;
}

void Module::BuildUsers() const {
  users_built_ = true;
  users_.assign(opcodes_.size(), {});
  // Count uses, lay the lists out, fill them; a second use by the same instruction is the one whose
  // list already ends with that instruction.
  for (uint32_t i = 0; i < opcodes_.size(); ++i) {
    if (dead_[i]) continue;
    for (InstId used : operands(InstId(i))) ++users_[used.value].capacity;
  }
  uint32_t total = 0;
  for (UserList& list : users_) {
    list.begin = total;
    total += list.capacity;
  }
  user_pool_.assign(total, InstId());
  for (uint32_t i = 0; i < opcodes_.size(); ++i) {
    if (dead_[i]) continue;
    for (InstId used : operands(InstId(i))) {
      UserList& list = users_[used.value];
      if (list.count != 0 && user_pool_[list.begin + list.count - 1] == InstId(i)) continue;
      user_pool_[list.begin + list.count++] = InstId(i);
    }
  }
}

bool Module::Uses(InstId user, InstId used) const {
  std::span<const InstId> all = operands(user);
  return std::find(all.begin(), all.end(), used) != all.end();
}

void Module::AddUser(InstId used, InstId user) {
  UserList& list = users_[used.value];
  if (list.count == list.capacity) {
    uint32_t capacity = std::max<uint32_t>(4, list.capacity * 2);
    uint32_t begin = static_cast<uint32_t>(user_pool_.size());
    user_pool_.resize(begin + capacity);
    std::copy_n(user_pool_.begin() + list.begin, list.count, user_pool_.begin() + begin);
    list.begin = begin;
    list.capacity = capacity;
  }
  user_pool_[list.begin + list.count++] = user;
}

void Module::RemoveUser(InstId used, InstId user) {
  UserList& list = users_[used.value];
  auto begin = user_pool_.begin() + list.begin;
  auto end = begin + list.count;
  // Passes remove the users of a value in list order more often than not: start where the last
  // removal from this list (or one with the same hint) ended.
  uint32_t& hint = remove_hints_[used.value % std::size(remove_hints_)];
  auto middle = begin + std::min(hint, list.count);
  auto at = std::find(middle, end, user);
  if (at == end) at = std::find(begin, middle, user);
  if (at == end || *at != user) return;
  hint = static_cast<uint32_t>(at - begin);
  *at = *(end - 1);
  --list.count;
}

void Module::SetOperandToNew(InstId id, uint32_t index, InstId fresh, bool still_uses_old) {
  InstId& slot = operand_pool_[operand_begin_[id.value] + index];
  InstId old = slot;
  slot = fresh;
  if (!users_built_) return;
  if (!still_uses_old) RemoveUser(old, id);
  AddUser(fresh, id);
}

void Module::SetOperand(InstId id, uint32_t index, InstId new_operand) {
  InstId& slot = operand_pool_[operand_begin_[id.value] + index];
  InstId old = slot;
  if (old == new_operand) return;
  bool was_user = users_built_ && Uses(id, new_operand);
  slot = new_operand;
  if (!users_built_) return;
  if (!Uses(id, old)) RemoveUser(old, id);
  if (!was_user) AddUser(new_operand, id);
}

void Module::ReplaceOperand(InstId id, InstId old, InstId new_operand) {
  if (old == new_operand) return;
  InstId* slots = operand_pool_.data() + operand_begin_[id.value];
  const uint32_t count = operand_count_[id.value], from = old.value, to = new_operand.value;
  // Tuples of thousands of elements come here once per element: the compiler makes vectors of this.
  uint32_t was_user = 0, found = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t value = slots[i].value;
    was_user |= value == to ? 1u : 0u;
    found |= value == from ? 1u : 0u;
    slots[i].value = value == from ? to : value;
  }
  if (found == 0 || !users_built_) return;
  RemoveUser(old, id);
  if (was_user == 0) AddUser(new_operand, id);
}

void Module::SetOperands(InstId id, std::span<const InstId> operands) {
  if (users_built_) {
    for (InstId used : this->operands(id)) RemoveUser(used, id);
  }
  std::vector<InstId> wanted(operands.begin(), operands.end());
  if (wanted.size() > operand_count_[id.value]) {
    operand_begin_[id.value] = static_cast<uint32_t>(operand_pool_.size());
    operand_pool_.resize(operand_pool_.size() + wanted.size());
  }
  operand_count_[id.value] = static_cast<uint32_t>(wanted.size());
  std::copy(wanted.begin(), wanted.end(), operand_pool_.begin() + operand_begin_[id.value]);
  if (!users_built_) return;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::find(wanted.begin(), wanted.begin() + i, wanted[i]) == wanted.begin() + i) {
      AddUser(wanted[i], id);
    }
  }
}

void Module::ReplaceAllUsesWith(InstId old, InstId replacement) {
  std::span<const InstId> current = users(old);
  std::vector<InstId> snapshot(current.begin(), current.end());
  for (InstId user : snapshot) {
    if (user != replacement) ReplaceOperand(user, old, replacement);
  }
  ComputationData& owner = computation(computation_of(old));
  if (owner.root == old) owner.root = replacement;
}

void Module::MarkDead(InstId id) {
  if (dead_[id.value]) return;
  if (users_built_) {
    for (InstId used : operands(id)) RemoveUser(used, id);
  }
  dead_[id.value] = 1;
}

void Module::RemoveDead() {
  for (ComputationData& c : computations_) {
    std::erase_if(c.instructions, [&](InstId id) { return IsDead(id) || c.dead; });
  }
  std::erase_if(order_, [&](CompId id) { return computations_[id.value].dead; });
}

void Module::SetAttributes(InstId id, std::span<const Attr> attrs) {
  constexpr size_t kFew = 24;
  Attr few[kFew];
  std::vector<Attr> many;
  Attr* sorted = few;
  if (attrs.size() > kFew) {
    many.resize(attrs.size());
    sorted = many.data();
  }
  // Insertion sort: instructions have a handful of attributes, mostly in order already. The span
  // may point into the pool itself, so nothing is written there before this is done.
  Opcode op = opcode(id);
  int ranks[kFew];
  std::vector<int> many_ranks(attrs.size() > kFew ? attrs.size() : 0);
  int* rank = attrs.size() > kFew ? many_ranks.data() : ranks;
  for (size_t i = 0; i < attrs.size(); ++i) {
    int own = AttributeRank(op, attrs[i].kind);
    size_t at = i;
    for (; at > 0 && rank[at - 1] > own; --at) {
      sorted[at] = sorted[at - 1];
      rank[at] = rank[at - 1];
    }
    sorted[at] = attrs[i];
    rank[at] = own;
  }
  size_t count = attrs.size();
  if (count > attr_count_[id.value]) {
    attr_begin_[id.value] = static_cast<uint32_t>(attr_pool_.size());
    attr_pool_.insert(attr_pool_.end(), sorted, sorted + count);
  } else {
    std::copy(sorted, sorted + count, attr_pool_.begin() + attr_begin_[id.value]);
  }
  attr_count_[id.value] = static_cast<uint16_t>(count);
}

void Module::SetAttr(InstId id, Attr attr) {
  for (uint32_t i = 0; i < attr_count_[id.value]; ++i) {
    Attr& existing = attr_pool_[attr_begin_[id.value] + i];
    if (existing.kind == attr.kind) {
      existing = attr;
      return;
    }
  }
  std::vector<Attr> all(attributes(id).begin(), attributes(id).end());
  all.push_back(attr);
  SetAttributes(id, all);
}

void Module::RemoveAttr(InstId id, AttrKind kind) {
  std::vector<Attr> all(attributes(id).begin(), attributes(id).end());
  std::erase_if(all, [&](const Attr& attr) { return attr.kind == kind; });
  SetAttributes(id, all);
}

namespace {

/// Appends values that may be part of the pool itself.
template <typename T>
void AppendTo(std::vector<T>* pool, std::span<const T> values) {
  bool inside = values.data() >= pool->data() && values.data() < pool->data() + pool->size();
  size_t from = inside ? static_cast<size_t>(values.data() - pool->data()) : 0;
  size_t at = pool->size();
  pool->resize(at + values.size());
  std::copy_n(inside ? pool->data() + from : values.data(), values.size(), pool->data() + at);
}

}  // namespace

namespace {

/// Appends values that may point into the pool itself.
template <typename T>
void AppendToPool(std::vector<T>& pool, std::span<const T> values) {
  bool inside = values.data() >= pool.data() && values.data() < pool.data() + pool.size();
  if (!inside) {
    pool.insert(pool.end(), values.begin(), values.end());
    return;
  }
  std::vector<T> own(values.begin(), values.end());
  pool.insert(pool.end(), own.begin(), own.end());
}

}  // namespace

Attr Module::IntsAttribute(AttrKind kind, std::span<const int64_t> values) {
  Attr attr{kind, static_cast<uint32_t>(int_pool_.size()), static_cast<uint32_t>(values.size())};
  AppendToPool(int_pool_, values);
  return attr;
}

Attr Module::RefsAttribute(AttrKind kind, std::span<const uint32_t> values) {
  Attr attr{kind, static_cast<uint32_t>(ref_pool_.size()), static_cast<uint32_t>(values.size())};
  AppendToPool(ref_pool_, values);
  return attr;
}

void Module::SetCalledComputation(InstId id, uint32_t index, CompId callee) {
  const Attr* attr = FindAttr(id, AttrKind::kCalledComputations);
  assert(attr != nullptr && index < attr->high);
  ref_pool_[attr->low + index] = callee.value;
}

// ---- names ----

namespace {

/// Splits "root.12" into root and number (hlo-text.md section 10.3).
struct SplitName {
  std::string_view root;
  uint64_t number = 0;
  bool has_number = false;
};

SplitName Split(std::string_view name) {
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return {name};
  uint64_t number = 0;
  auto [end, error] = std::from_chars(name.data() + dot + 1, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return {name};
  return {name.substr(0, dot), number, true};
}

constexpr uint64_t kSmallNumbers = 1 << 20;

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

}  // namespace

/// Calls learn(name) or learn(number) for every instruction name with this root.
///
/// The first roots walk over all names. Then an index is made: per name the upper half of the hash
/// of its root and its number, two entries of `next`, grouped by the lower bits of the hash; group
/// g begins at head[g]. Looking a root up reads no text; roots are told apart by 50 bits or so.
template <typename Learn>
void Module::LearnInstructionNames(std::string_view root, Learn learn) {
  constexpr uint32_t kRootsWithoutIndex = 2;
  constexpr uint32_t kLargeNumber = 0xffffffffu;
  NameIndex& index = name_index_;
  auto walk = [&](size_t from) {
    for (size_t i = from; i < names_.size(); ++i) {
      // Names lie all over the source text: fetch them ahead.
      if (i + 16 < names_.size()) __builtin_prefetch(str(names_[i + 16]).data());
      learn(names_[i]);
    }
  };
  if (++index.roots <= kRootsWithoutIndex) return walk(0);
  std::hash<std::string_view> hash;
  if (index.head.empty()) {
    size_t groups = std::bit_ceil(names_.size() / 2 + 1);
    std::vector<uint64_t> hashes(names_.size());
    std::vector<uint32_t> numbers(names_.size());
    index.head.assign(groups + 1, 0);
    for (size_t i = 0; i < names_.size(); ++i) {
      if (i + 16 < names_.size()) __builtin_prefetch(str(names_[i + 16]).data());
      SplitName split = Split(str(names_[i]));
      hashes[i] = hash(split.root);
      numbers[i] = split.number < kLargeNumber ? static_cast<uint32_t>(split.number) : kLargeNumber;
      ++index.head[hashes[i] & (groups - 1)];
    }
    uint32_t end = 0;
    for (uint32_t& head : index.head) head = end += head;
    index.next.resize(names_.size() * 2);
    for (size_t i = names_.size(); i-- > 0;) {
      uint32_t at = --index.head[hashes[i] & (groups - 1)];
      index.next[2 * at] = static_cast<uint32_t>(hashes[i] >> 32);
      index.next[2 * at + 1] = numbers[i];
    }
    index.given_since = 0;
  }
  uint64_t wanted = hash(root);
  size_t group = wanted & (index.head.size() - 2);
  for (uint32_t at = index.head[group]; at < index.head[group + 1]; ++at) {
    if (index.next[2 * at] != static_cast<uint32_t>(wanted >> 32)) continue;
    if (index.next[2 * at + 1] == kLargeNumber) return walk(0);
    learn(uint64_t{index.next[2 * at + 1]});
  }
  // Names that were given out since then are known to their roots.
  if (names_.size() - index.next.size() / 2 > index.given_since) walk(index.next.size() / 2);
}

StrRef Module::UniqueName(std::string_view wanted, bool computations,
                          std::unordered_map<std::string, NameRoot>* roots) {
  SplitName split = Split(wanted);
  auto [entry, inserted] = roots->try_emplace(std::string(split.root));
  NameRoot& root = entry->second;
  auto use = [&root](uint64_t number) {
    if (number >= kSmallNumbers) return root.used_large.try_emplace(number, true).second;
    if (number >= root.used.size())
      root.used.resize(std::max<size_t>(number + 1, root.used.size() * 2));
    if (root.used[number]) return false;
    root.used[number] = true;
    return true;
  };
  if (inserted) {
    // The first time a pass asks for this root: learn the numbers that are taken.
    auto learn = [&](StrRef ref) {
      if (ref.length < split.root.size() || split.root.empty()) return;
      std::string_view name = str(ref);
      if (name.front() != split.root.front() || !name.starts_with(split.root)) return;
      if (SplitName other = Split(name); other.root == split.root) use(other.number);
    };
    if (computations) {
      for (const ComputationData& c : computations_) learn(c.name);
    } else {
      LearnInstructionNames(split.root, Overloaded{learn, [&](uint64_t number) { use(number); }});
    }
  }
  if (!computations) ++name_index_.given_since;
  uint64_t number = split.number;
  if (!use(number)) {
    while (!use(root.next)) ++root.next;
    number = root.next;
  }
  if (number == 0 && !split.has_number) return text_->Append(split.root);
  return text_->Append(std::string(split.root) + "." + std::to_string(number));
}

StrRef Module::UniqueInstructionName(std::string_view wanted) {
  return UniqueName(wanted, false, &instruction_name_roots_);
}

StrRef Module::UniqueComputationName(std::string_view wanted) {
  return UniqueName(wanted, true, &computation_name_roots_);
}

// ---- memory ----

size_t Module::MemoryBytes() const {
  auto bytes = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  size_t total = shapes_->MemoryBytes() + text_->MemoryBytes() + bytes(opcodes_) + bytes(dead_) +
                 bytes(attr_count_) + bytes(shape_) + bytes(operand_begin_) +
                 bytes(operand_count_) + bytes(computation_of_) + bytes(names_) +
                 bytes(attr_begin_) + bytes(source_offset_) + bytes(operand_pool_) +
                 bytes(attr_pool_) + bytes(int_pool_) + bytes(ref_pool_) + bytes(literals_) +
                 literal_bytes_.capacity() + bytes(users_) + bytes(user_pool_) +
                 bytes(computations_) + bytes(order_);
  for (const ComputationData& c : computations_)
    total += bytes(c.instructions) + bytes(c.parameters);
  return total;
}

void Module::ShrinkToFit() {
  // Moving an array to save less than a fifth of it costs more than it gives.
  auto shrink_one = [](auto& v) {
    if (v.capacity() - v.size() > v.size() / 4) v.shrink_to_fit();
  };
  auto shrink = [&](auto&... v) { (shrink_one(v), ...); };
  shrink(opcodes_, dead_, attr_count_, shape_, operand_begin_, operand_count_, computation_of_,
         names_, attr_begin_, source_offset_, operand_pool_, attr_pool_, int_pool_, ref_pool_,
         literals_, literal_bytes_, computations_, order_);
}

void Module::Reserve(size_t instructions) {
  auto reserve = [&](auto&... v) { (v.reserve(instructions), ...); };
  reserve(opcodes_, dead_, attr_count_, shape_, operand_begin_, operand_count_, computation_of_,
          names_, attr_begin_, source_offset_);
  operand_pool_.reserve(instructions * 3 / 2);
  attr_pool_.reserve(instructions * 2);
}

}  // namespace hlokit
