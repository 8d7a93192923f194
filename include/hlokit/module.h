#ifndef HLOKIT_MODULE_H_
#define HLOKIT_MODULE_H_

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hlokit/attribute.h"
#include "hlokit/id.h"
#include "hlokit/opcode.h"
#include "hlokit/shape.h"
#include "hlokit/text_arena.h"

namespace hlokit {

class Module;
struct ProtoExtras;

/// The value of a constant or of the `literal` of a custom call. Elements are stored in row-major
/// logical order whatever the layout, each in StorageBytes(type) bytes, host byte order; complex
/// numbers as real then imaginary part. A tuple holds its members.
struct LiteralData {
  ShapeId shape;        ///< static, with the layout written in front (custom call) or bare
  bool elided = false;  ///< the text said {...}: there is no value
  uint64_t offset = 0;  // in the bytes of the module
  uint64_t size = 0;    ///< bytes
  std::vector<LiteralId> elements;  ///< members of a tuple
};
/// Bytes of one stored element: 1 for pred and sub-byte types.
constexpr int StorageBytes(ElementType type) { return (Info(type).bits + 7) / 8; }

enum class AliasKind : uint8_t { kMay, kMust };
/// One entry of input_output_alias.
struct InputOutputAlias {
  std::vector<int64_t> output_index;
  int64_t parameter_number = 0;
  std::vector<int64_t> parameter_index;
  AliasKind kind = AliasKind::kMay;
};
struct BufferDonor {
  int64_t parameter_number = 0;
  std::vector<int64_t> parameter_index;
};
/// One pair of output_to_operand_aliasing.
struct OperandAlias {
  std::span<const int64_t> output_index;
  int64_t operand_number;
  std::span<const int64_t> operand_index;
};

/// Layouts of the parameters and the result of a computation; a leaf without layout is unset.
struct ComputationLayout {
  std::vector<ShapeId> parameters;
  ShapeId result;
  bool operator==(const ComputationLayout&) const = default;
};

struct FileLocation {
  int32_t file_name_id = 0, function_name_id = 0, line = 0, end_line = 0, column = 0,
          end_column = 0;
  bool operator==(const FileLocation&) const = default;
};
struct StackFrame {
  int32_t file_location_id = 0;
  int32_t parent_frame_id = 0;  ///< 0 = none (text writes one more)
  bool operator==(const StackFrame&) const = default;
};
/// Tables in front of the computations; ids count from 1.
struct StackFrameIndex {
  std::vector<std::string> file_names, function_names;
  std::vector<FileLocation> file_locations;
  std::vector<StackFrame> stack_frames;
};

/// What stands in the header line (hlo-text.md section 3.1).
struct ModuleConfig {
  std::string name;
  bool is_scheduled = false;
  std::vector<InputOutputAlias> input_output_alias;
  std::vector<BufferDonor> buffer_donors;
  bool alias_passthrough_params = false;
  /// As given: unset leaves stay unset. Always present after reading.
  std::optional<ComputationLayout> entry_computation_layout;
  /// False when the header had no entry_computation_layout and it was taken from the entry.
  bool entry_computation_layout_given = false;
  std::vector<bool> allow_spmd_sharding_propagation_to_parameters = {false};
  std::vector<bool> allow_spmd_sharding_propagation_to_output = {false};
  int64_t replica_count = 1;
  int64_t num_partitions = 1;
  std::string frontend_attributes;    ///< canonical text with braces; empty = none
  std::string origin_recovery_table;  ///< text between the braces; empty = none
  StackFrameIndex stack_frame_index;
  /// Fields of a proto that have no place in a module; null when it was not read from one.
  std::shared_ptr<const ProtoExtras> proto_extras;
  bool use_spmd_partitioning() const { return num_partitions != 1; }
};

/// One computation. `instructions` is creation order ("instruction-list order"); dead ones are
/// removed from it by Module::Remove.
struct ComputationData {
  StrRef name;
  std::vector<InstId> instructions;
  std::vector<InstId> parameters;  ///< by parameter number
  InstId root;
  StrRef execution_thread;  ///< empty = "main"
  bool dead = false;
};

/// A view of one instruction; valid while the module lives, also across edits.
class Instruction {
 public:
  Instruction(const Module* module, InstId id) : module_(module), id_(id) {}
  InstId id() const { return id_; }
  inline std::string_view name() const;
  inline Opcode opcode() const;
  inline ShapeId shape() const;
  inline CompId computation() const;
  inline uint32_t operand_count() const;
  inline Instruction operand(uint32_t index) const;
  inline std::span<const InstId> operands() const;
  inline std::span<const InstId> users() const;
  inline bool IsRoot() const;
  const Module& module() const { return *module_; }
  bool operator==(const Instruction& other) const { return id_ == other.id_; }

 private:
  const Module* module_;
  InstId id_;
};

/// An HLO module as flat arrays. Instructions are numbered in creation order; an edit appends or
/// marks dead, nothing is renumbered. Copying a module copies the arrays and shares the append-only
/// pools of text and shapes (so copies of one module must stay on one thread).
class Module {
 public:
  Module();
  /// An empty module that shares the pools of text and shapes of another one.
  static Module SharingPools(const Module& other);

  ModuleConfig& config() { return config_; }
  const ModuleConfig& config() const { return config_; }
  ShapePool& shapes() { return *shapes_; }
  const ShapePool& shapes() const { return *shapes_; }
  /// The pool of a const module, for computing derived shapes: adding to it changes no module.
  ShapePool& mutable_shapes() const { return *shapes_; }
  TextArena& text() { return *text_; }
  std::string_view str(StrRef ref) const { return text_->View(ref); }
  /// The text that the module was read from; source offsets count from its start. Without a mark:
  /// the first text that the pool adopted.
  std::string_view source_text() const {
    return source_.empty() ? text_->FirstAdopted() : text_->View(source_);
  }
  void set_source_text(StrRef source) { source_ = source; }

  // ---- computations ----
  uint32_t computation_count() const { return static_cast<uint32_t>(computations_.size()); }
  ComputationData& computation(CompId id) { return computations_[id.value]; }
  const ComputationData& computation(CompId id) const { return computations_[id.value]; }
  std::string_view name(CompId id) const { return str(computations_[id.value].name); }
  CompId entry() const { return entry_; }
  void set_entry(CompId id) { entry_ = id; }
  CompId AddComputation(StrRef name);
  /// The computation with this name, or invalid.
  CompId FindComputation(std::string_view name) const;
  /// Computations in stored order (text order of a parsed module, entry at its own place), without
  /// dead ones.
  const std::vector<CompId>& computation_order() const { return order_; }
  std::vector<CompId>& mutable_computation_order() { return order_; }
  /// The order in which XLA's passes walk over the computations, callees first: the stored order
  /// until a pass adds computations (src/edit/callee_first_order.h). Without dead ones.
  std::vector<CompId> walk_order() const;
  void set_walk_order(std::vector<CompId> order) { walk_order_ = std::move(order); }

  // ---- instructions: looking ----
  /// One more than the largest instruction number, dead ones included.
  uint32_t instruction_count() const { return static_cast<uint32_t>(opcodes_.size()); }
  Instruction operator[](InstId id) const { return Instruction(this, id); }
  Opcode opcode(InstId id) const { return opcodes_[id.value]; }
  ShapeId shape(InstId id) const { return shape_[id.value]; }
  std::string_view name(InstId id) const { return str(names_[id.value]); }
  StrRef name_ref(InstId id) const { return names_[id.value]; }
  CompId computation_of(InstId id) const { return computation_of_[id.value]; }
  bool IsDead(InstId id) const { return dead_[id.value] != 0; }
  bool IsRoot(InstId id) const { return computation(computation_of(id)).root == id; }
  std::span<const InstId> operands(InstId id) const {
    return {operand_pool_.data() + operand_begin_[id.value], operand_count_[id.value]};
  }
  InstId operand(InstId id, uint32_t index) const {
    return operand_pool_[operand_begin_[id.value] + index];
  }
  uint32_t operand_count(InstId id) const { return operand_count_[id.value]; }
  /// Distinct users in the order in which they became users. Built on first use, then maintained.
  std::span<const InstId> users(InstId id) const {
    if (!users_built_) BuildUsers();
    const UserList& list = users_[id.value];
    return {user_pool_.data() + list.begin, list.count};
  }
  /// Byte offset of the instruction in the source text; kNoOffset when it was made by a pass.
  static constexpr uint32_t kNoOffset = 0xffffffffu;
  uint32_t source_offset(InstId id) const { return source_offset_[id.value]; }
  /// The live instruction with this name (with or without a leading %), or invalid. Linear.
  InstId FindInstruction(std::string_view name) const;

  // ---- attributes ----
  std::span<const Attr> attributes(InstId id) const {
    return {attr_pool_.data() + attr_begin_[id.value], attr_count_[id.value]};
  }
  const Attr* FindAttr(InstId id, AttrKind kind) const {
    for (const Attr& attr : attributes(id)) {
      if (attr.kind == kind) return &attr;
    }
    return nullptr;
  }
  bool HasAttr(InstId id, AttrKind kind) const { return FindAttr(id, kind) != nullptr; }
  /// Value of an integer, bool or enum attribute; `absent` when it is not there.
  int64_t IntAttr(InstId id, AttrKind kind, int64_t absent = 0) const {
    const Attr* attr = FindAttr(id, kind);
    return attr == nullptr ? absent : attr->integer();
  }
  /// Value of a text attribute; empty when it is not there.
  std::string_view TextAttr(InstId id, AttrKind kind) const {
    const Attr* attr = FindAttr(id, kind);
    return attr == nullptr ? std::string_view() : str(attr->text());
  }
  /// Value of an integer list attribute; empty when it is not there.
  std::span<const int64_t> IntsAttr(InstId id, AttrKind kind) const {
    const Attr* attr = FindAttr(id, kind);
    return attr == nullptr ? std::span<const int64_t>() : ints(*attr);
  }
  std::span<const int64_t> ints(const Attr& attr) const {
    return {int_pool_.data() + attr.low, attr.high};
  }
  std::span<const uint32_t> refs(const Attr& attr) const {
    return {ref_pool_.data() + attr.low, attr.high};
  }
  std::span<const int64_t> dimensions(InstId id) const {
    return IntsAttr(id, AttrKind::kDimensions);
  }
  double FloatAttr(InstId id, AttrKind kind) const;
  int64_t parameter_number(InstId id) const { return IntAttr(id, AttrKind::kParameterNumber); }
  int64_t tuple_index(InstId id) const { return IntAttr(id, AttrKind::kIndex); }
  /// Called computations in the order of hlo-text.md section 11.3 (while: body, condition).
  std::span<const CompId> called_computations(InstId id) const;
  CompId to_apply(InstId id) const { return called_computations(id)[0]; }
  std::span<const InstId> control_predecessors(InstId id) const;
  std::span<const ShapeId> operand_layout_constraints(InstId id) const;
  /// A custom call that carries operand_layout_constraints (possibly an empty list).
  bool IsLayoutConstrainedCustomCall(InstId id) const {
    return opcode(id) == Opcode::kCustomCall && HasAttr(id, AttrKind::kOperandLayoutConstraints);
  }
  bool IsCustomCall(InstId id, std::string_view target) const {
    return opcode(id) == Opcode::kCustomCall && TextAttr(id, AttrKind::kCustomCallTarget) == target;
  }
  std::vector<OperandAlias> output_to_operand_aliasing(InstId id) const;
  std::string_view execution_thread(CompId id) const {
    StrRef thread = computation(id).execution_thread;
    return thread.empty() ? std::string_view("main") : str(thread);
  }

  // ---- literals ----
  const LiteralData& literal(LiteralId id) const { return literals_[id.value]; }
  LiteralData& literal(LiteralId id) { return literals_[id.value]; }
  /// The literal of a constant.
  LiteralId literal_of(InstId constant) const {
    return LiteralId(FindAttr(constant, AttrKind::kConstantLiteral)->low);
  }
  std::span<const std::byte> literal_bytes(LiteralId id) const {
    return {literal_bytes_.data() + literals_[id.value].offset, literals_[id.value].size};
  }
  LiteralId AddLiteral(LiteralData data);
  /// Appends zero bytes for a literal and returns where they are (valid until the next append).
  std::span<std::byte> AllocateLiteralBytes(LiteralId id, uint64_t size);
  uint32_t literal_count() const { return static_cast<uint32_t>(literals_.size()); }

  // ---- edits ----
  /// Appends an instruction to a computation. Attributes are added with SetAttributes or Add…Attr.
  InstId AddInstruction(CompId computation, Opcode opcode, ShapeId shape,
                        std::span<const InstId> operands, StrRef name,
                        uint32_t source_offset = kNoOffset);
  /// A name that no instruction of the module has, from hlo-text.md section 10.3: "copy", "copy.1",
  /// …
  StrRef UniqueInstructionName(std::string_view wanted);
  StrRef UniqueComputationName(std::string_view wanted);
  void set_shape(InstId id, ShapeId shape) { shape_[id.value] = shape; }
  void set_name(InstId id, StrRef name) { names_[id.value] = name; }
  void set_opcode(InstId id, Opcode opcode) { opcodes_[id.value] = opcode; }
  /// Replaces one operand; keeps the user lists right (a removed user's slot takes the last entry).
  void SetOperand(InstId id, uint32_t index, InstId new_operand);
  /// Replaces all operands that are `old`, in one walk over them.
  void ReplaceOperand(InstId id, InstId old, InstId new_operand);
  /// SetOperand in constant time when more is known: `fresh` has no user yet, and `still_uses_old`
  /// says whether another operand of `id` is the old value too. For wide instructions.
  void SetOperandToNew(InstId id, uint32_t index, InstId fresh, bool still_uses_old);
  /// Replaces the whole operand list.
  void SetOperands(InstId id, std::span<const InstId> operands);
  /// Every user of `old` uses `replacement` instead (users that are `replacement` itself excepted);
  /// the root too.
  void ReplaceAllUsesWith(InstId old, InstId replacement);
  /// Marks an instruction dead; it must have no users and not be the root. Also takes it out of the
  /// instruction list when `compact` is set (linear in the computation): see RemoveDead.
  void MarkDead(InstId id);
  /// Takes dead instructions out of all instruction lists, and dead computations out of the order.
  void RemoveDead();
  /// Sorted by AttributeRank, so that printing is a walk.
  void SetAttributes(InstId id, std::span<const Attr> attrs);
  void SetAttr(InstId id, Attr attr);
  void RemoveAttr(InstId id, AttrKind kind);
  Attr TextAttribute(AttrKind kind, std::string_view value) {
    return Attr::Text(kind, text_->Append(value));
  }
  Attr IntsAttribute(AttrKind kind, std::span<const int64_t> values);
  Attr RefsAttribute(AttrKind kind, std::span<const uint32_t> values);
  Attr IdAttribute(AttrKind kind, uint32_t id) { return {kind, id, 0}; }
  /// Changes one called computation in place.
  void SetCalledComputation(InstId id, uint32_t index, CompId callee);

  /// Bytes of heap per part, for `hlokit stats --memory` and the benchmarks.
  size_t MemoryBytes() const;
  /// Gives back what growing arrays reserved too much.
  void ShrinkToFit();
  void Reserve(size_t instructions);

 private:
  struct UserList {
    uint32_t begin = 0, count = 0, capacity = 0;
  };
  void BuildUsers() const;
  void AddUser(InstId used, InstId user);
  void RemoveUser(InstId used, InstId user);
  bool Uses(InstId user, InstId used) const;

  ModuleConfig config_;
  StrRef source_;
  std::shared_ptr<ShapePool> shapes_;
  std::shared_ptr<TextArena> text_;
  std::vector<ComputationData> computations_;
  std::vector<CompId> order_;
  std::vector<CompId> walk_order_;  // empty = order_
  CompId entry_;

  // Instructions, by InstId.
  std::vector<Opcode> opcodes_;
  std::vector<uint8_t> dead_;
  std::vector<uint16_t> attr_count_;
  std::vector<ShapeId> shape_;
  std::vector<uint32_t> operand_begin_;
  std::vector<uint32_t> operand_count_;
  std::vector<CompId> computation_of_;
  std::vector<StrRef> names_;
  std::vector<uint32_t> attr_begin_;
  std::vector<uint32_t> source_offset_;
  // Pools.
  std::vector<InstId> operand_pool_;
  std::vector<Attr> attr_pool_;
  std::vector<int64_t> int_pool_;
  std::vector<uint32_t> ref_pool_;
  std::vector<LiteralData> literals_;
  std::vector<std::byte> literal_bytes_;
  // Users, on demand.
  mutable bool users_built_ = false;
  mutable std::vector<UserList> users_;
  mutable std::vector<InstId> user_pool_;
  uint32_t remove_hints_[16] = {};  // where the next user to remove probably stands
  // Name roots that a pass asked for.
  struct NameRoot {
    std::vector<bool> used;  // small numbers
    std::unordered_map<uint64_t, bool> used_large;
    uint64_t next = 0;
  };
  /// Instruction names by the hash of their root, built once many roots were asked for: without it
  /// every further root would cost a walk over all names.
  struct NameIndex {
    std::vector<uint32_t> head, next;  // bucket -> name + 1 -> the next one in the bucket + 1
    uint32_t roots = 0;                // asked for so far
    uint32_t given_since = 0;          // names given out since the index was built
  };
  NameIndex name_index_;
  template <typename Learn>
  void LearnInstructionNames(std::string_view root, Learn learn);
  StrRef UniqueName(std::string_view wanted, bool computations,
                    std::unordered_map<std::string, NameRoot>* roots);
  std::unordered_map<std::string, NameRoot> instruction_name_roots_;
  std::unordered_map<std::string, NameRoot> computation_name_roots_;
};

inline std::string_view Instruction::name() const { return module_->name(id_); }
inline Opcode Instruction::opcode() const { return module_->opcode(id_); }
inline ShapeId Instruction::shape() const { return module_->shape(id_); }
inline CompId Instruction::computation() const { return module_->computation_of(id_); }
inline uint32_t Instruction::operand_count() const { return module_->operand_count(id_); }
inline Instruction Instruction::operand(uint32_t index) const {
  return Instruction(module_, module_->operand(id_, index));
}
inline std::span<const InstId> Instruction::operands() const { return module_->operands(id_); }
inline std::span<const InstId> Instruction::users() const { return module_->users(id_); }
inline bool Instruction::IsRoot() const { return module_->IsRoot(id_); }

}  // namespace hlokit

#endif  // HLOKIT_MODULE_H_
