#ifndef HLOKIT_EVAL_H_
#define HLOKIT_EVAL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

/// One array outside of any layout: elements in row-major logical order, each in StorageBytes(type)
/// bytes (sub-byte types one per byte, sign-extended), host byte order. A token or opaque value has
/// that type, no sizes and no bytes.
struct HostArray {
  ElementType type = ElementType::kInvalid;
  std::vector<int64_t> sizes;
  std::vector<std::byte> bytes;
  int64_t elements() const;
  bool operator==(const HostArray&) const = default;
};

/// What one device gets or gives: the leaves of all parameters (or of the result) in pre-order.
using HostLeaves = std::vector<HostArray>;

/// A view of a value at the end of one instruction, for observers: leaves in pre-order, built when
/// asked for.
class ObservedValue {
 public:
  virtual ~ObservedValue() = default;
  virtual HostLeaves Leaves() const = 0;
};

struct EvalOptions {
  /// Devices to simulate; 0 = DeviceCount(module).
  int64_t devices = 0;
  /// Most bytes that values may take at a time.
  uint64_t max_bytes = uint64_t{4} << 30;
  /// Most elements that may be computed in total (a product counts one); stops endless loops.
  uint64_t max_work = uint64_t{40} << 30;
  /// Where a value is passed on (tuples, calls, loops, parameters, custom calls) under a shape
  /// whose layout has another order, its bytes are read in that order, as a compiled program would
  /// do. Off: the value keeps its elements. Turn it on for modules after layout assignment.
  bool strict_layouts = false;
  /// Called after every instruction outside of scalar functions, for each device.
  std::function<void(InstId id, uint32_t device, const ObservedValue& value)> observer;
  /// Gets a hash of every value that leaves the module on the way (outfeed, send), in the order of
  /// execution.
  std::vector<uint64_t>* effects = nullptr;
  /// Gets one line per instruction whose value is a stand-in: custom calls, infeed, recv, random
  /// numbers.
  std::vector<std::string>* stand_ins = nullptr;
};

/// Devices that the module is for: replicas times partitions when something in it tells devices
/// apart, else 1.
int64_t DeviceCount(const Module& module);

/// Runs the entry computation on every device. `inputs` has one entry per device, or one for all.
/// Values are stored in the layouts of their shapes: a bitcast reinterprets bytes, a copy moves
/// them. Fails with kUnsupported (E001 …) on what cannot be run, naming the instruction, and with
/// kUsage when the inputs do not fit the parameters. The module must have passed the verifier.
Result<std::vector<HostLeaves>> Evaluate(const Module& module, std::span<const HostLeaves> inputs,
                                         const EvalOptions& options = {});

// ---- inputs ----

/// The shapes of the leaves of all entry parameters, in order.
std::vector<ShapeId> EntryLeaves(const Module& module);

/// How to make inputs.
enum class InputRule : uint8_t {
  kGolden,    ///< the fixed rule of the reference results
  kRandom,    ///< uniform over a moderate range
  kDistinct,  ///< all elements of all leaves differ as far as the type allows
  kExtreme,   ///< zeros of both signs, infinities, NaNs with payloads, smallest and largest values
};
/// Inputs for one device. The same arguments give the same bytes; the golden rule ignores `seed`.
HostLeaves MakeInputs(const Module& module, InputRule rule, uint64_t seed);

// ---- outputs ----

/// One line per leaf: `{index} shape values` (docs/reference/run.md).
std::string GoldenText(const Module& module, ShapeId result, const HostLeaves& leaves);
/// The text of one element: integers in decimal, floats as C99 hexadecimal or shortest decimal.
std::string ElementText(const HostArray& array, int64_t index, bool hexadecimal);

// ---- comparing ----

/// The first element in which two arrays differ.
struct Difference {
  int64_t leaf = -1;     ///< number of the leaf; -1: equal
  int64_t element = -1;  ///< row-major; -1: the shapes differ
  std::string left, right;
};
/// `ulps`: 0 = the same bits; else floats may be that far apart and zeros of either sign and all
/// NaNs are equal. `any_nan`: all NaNs are equal in any case.
Difference FirstDifference(const HostLeaves& left, const HostLeaves& right, double ulps,
                           bool any_nan = false);

}  // namespace hlokit

#endif  // HLOKIT_EVAL_H_
