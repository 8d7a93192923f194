// Who runs what, in which order, on which devices, and when is a value freed?
#ifndef HLOKIT_SRC_EVAL_ENGINE_H_
#define HLOKIT_SRC_EVAL_ENGINE_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hlokit/eval.h"
#include "hlokit/module.h"
#include "hlokit/result.h"
#include "src/eval/physical.h"
#include "src/eval/value.h"

namespace hlokit::eval {

class Engine;

/// One value per device that takes part.
using DeviceValues = std::vector<Value>;

/// A call of one computation: the devices that run it and what they have computed so far.
struct Frame {
  std::span<const uint32_t> devices;
  std::vector<DeviceValues> slots;          // by position in the plan
  std::span<const DeviceValues> arguments;  // by parameter number
};

/// What an array instruction reads and writes on one device: row-major elements.
struct OpContext {
  Engine& engine;
  const Module& module;
  InstId id;
  uint32_t device = 0;
  std::vector<ArrayView> in;
  std::vector<ArrayView> out;  // one per array leaf of the result

  Opcode opcode() const { return module.opcode(id); }
  std::span<const int64_t> ints(AttrKind kind) const { return module.IntsAttr(id, kind); }
  int64_t integer(AttrKind kind, int64_t absent = 0) const {
    return module.IntAttr(id, kind, absent);
  }
  /// An error that names the instruction.
  std::unexpected<Error> Refuse(std::string_view why) const;
};

/// Computes an instruction whose operands are arrays. `inputs` limits nothing: all operands.
using ArrayHandler = Status (*)(OpContext&);
/// Computes an instruction that passes values on, calls computations, or connects devices.
using ValueHandler = Status (*)(Engine&, Frame&, InstId, DeviceValues*);

/// The handler of an opcode, or null.
ArrayHandler FindArrayHandler(Opcode opcode);
ValueHandler FindValueHandler(Opcode opcode);

class Engine {
 public:
  Engine(const Module& module, const EvalOptions& options);

  const Module& module() const { return module_; }
  const ShapePool& shapes() const { return module_.shapes(); }
  const EvalOptions& options() const { return options_; }
  int64_t device_count() const { return device_count_; }

  /// Runs a computation on some devices and gives the value of its root.
  Status Run(CompId computation, std::span<const uint32_t> devices,
             std::span<const DeviceValues> arguments, DeviceValues* result);

  /// The value of operand `index` on every device of the frame.
  const DeviceValues& Operand(const Frame& frame, InstId id, uint32_t index) const;

  // ---- making values ----
  Result<std::shared_ptr<Storage>> Allocate(InstId id, uint64_t bytes);
  /// An array from row-major elements.
  Result<Value> Store(InstId id, ShapeId shape, const std::byte* logical);
  /// The same from memory that may be kept as it is when the layout is row-major.
  Result<Value> Store(InstId id, ShapeId shape, std::shared_ptr<Storage> logical);
  /// Row-major elements of an array.
  Result<std::shared_ptr<Storage>> Logical(InstId id, const Value& value);
  ArrayView View(const Value& value, Storage& logical) const;
  /// The same for the body of a fusion: its values are not stored, so layouts inside say nothing.
  Status RunFused(CompId computation, std::span<const uint32_t> devices,
                  std::span<const DeviceValues> arguments, DeviceValues* result);

  /// A value that is passed on under a shape (see EvalOptions::strict_layouts).
  Result<Value> PassOn(InstId id, const Value& value, ShapeId declared);
  /// Every leaf in the layout of the shape.
  Result<Value> Relayout(InstId id, const Value& value, ShapeId shape);
  Value Tuple(ShapeId shape, std::vector<Value> elements) const;
  /// Zeros, tokens.
  Result<Value> Zero(InstId id, ShapeId shape);
  /// Values that depend on `seed`, the type and the place only.
  Result<Value> MadeUp(InstId id, ShapeId shape, uint64_t seed);
  /// A hash of the logical elements of a value.
  Result<uint64_t> Hash(InstId id, const Value& value, uint64_t seed);

  /// The nodes of a value that are not tuples, in pre-order, and back.
  static void AppendLeaves(const Value& value, std::vector<Value>* leaves);
  Value FromLeaves(ShapeId shape, std::span<const Value> leaves) const;

  // ---- limits and notes ----
  Status AddWork(InstId id, int64_t elements);
  void NoteStandIn(InstId id, std::string_view what);
  std::unexpected<Error> Refuse(InstId id, std::string_view why,
                                DiagId code = DiagId::kNotEvaluable) const;
  /// Where the elements of an array shape lie.
  Result<const PhysicalOrder*> Order(InstId id, ShapeId array);

 private:
  /// The instructions that the root (and, when asked for, outfeed, send, and calls of computations
  /// with such) needs, operands first, and what dies behind each of them.
  struct Plan {
    std::vector<InstId> order;
    uint32_t root = 0;                        // position
    std::vector<std::vector<uint32_t>> dead;  // positions whose last reader this is
  };
  const Plan& PlanOf(CompId computation);
  void FindWhatHandsOut();
  Status RunInstruction(Frame& frame, InstId id, DeviceValues* out);
  Status RunArray(Frame& frame, InstId id, ArrayHandler handler, size_t lane, Value* out);
  void Observe(const Frame& frame, InstId id, const DeviceValues& values);

  const Module& module_;
  const EvalOptions& options_;
  int64_t device_count_ = 1;
  std::shared_ptr<MemoryMeter> meter_ = std::make_shared<MemoryMeter>();
  uint64_t work_ = 0;
  int depth_ = 0;
  int fusions_ = 0;                           // open ones
  bool quiet_ = false;                        // inside scalar functions nobody observes
  std::vector<uint32_t> position_;            // by instruction
  std::vector<std::unique_ptr<Plan>> plans_;  // by computation
  std::unordered_map<uint32_t, std::unique_ptr<PhysicalOrder>> orders_;  // by shape
  std::vector<bool> hands_out_;  // by computation: does it hold, or reach, an outfeed or a send?
  std::vector<bool> noted_;
  friend class Function;
};

}  // namespace hlokit::eval

#endif  // HLOKIT_SRC_EVAL_ENGINE_H_
