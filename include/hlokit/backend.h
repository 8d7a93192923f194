#ifndef HLOKIT_BACKEND_H_
#define HLOKIT_BACKEND_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/layout_rules.h"
#include "hlokit/layout_trace.h"
#include "hlokit/opcode.h"
#include "hlokit/result.h"
#include "hlokit/shape.h"

namespace hlokit {

/// Whose rules apply in layout assignment.
enum class Backend : uint8_t {
  kGeneric,    ///< the base pass, nothing more
  kCpu,        ///< backend-hooks.md section 2
  kGpu,        ///< sections 3 and 4
  kDescribed,  ///< the demands of a device file
};
std::string_view BackendName(Backend backend);
std::optional<Backend> BackendFromName(std::string_view name);

/// Who made a GPU; decides which convolution library its rules speak of.
enum class Vendor : uint8_t { kNone, kCuda, kRocm, kOneApi };
std::string_view VendorName(Vendor vendor);

/// CUDA compute capability. The extension changes no layout.
struct ComputeCapability {
  int major = 0, minor = 0;
  std::string extension;  ///< "", "a" or "f"
  bool AtLeast(int wanted_major, int wanted_minor) const {
    return major != wanted_major ? major > wanted_major : minor >= wanted_minor;
  }
};

/// Options that change rules: the rows of backend_flags.def.
struct BackendFlags {
#define HLOKIT_BACKEND_FLAG(field, name, fallback, section, meaning) bool field = fallback;
#include "hlokit/backend_flags.def"
  bool operator==(const BackendFlags&) const = default;
};
struct BackendFlagInfo {
  std::string_view name;  ///< as XLA calls it
  bool BackendFlags::*field;
  bool fallback;
  std::string_view section;  ///< of backend-hooks.md
  std::string_view meaning;
};
std::span<const BackendFlagInfo> BackendFlagTable();

/// Rules that the built-in backends ask with: the rows of backend_rules.def, numbered from 1.
enum class BackendRule : uint16_t {
  kNone,
#define HLOKIT_BACKEND_RULE(id, name, backend, section, reason) id,
#include "hlokit/backend_rules.def"
};
struct BackendRuleInfo {
  std::string_view name;     ///< stable word, "gpu.conv.nhwc"
  std::string_view section;  ///< of backend-hooks.md
  std::string_view reason;   ///< a sentence; {device}, {library} and {type} are filled in
};
/// All rules; the rule with number n is entry n-1.
std::span<const BackendRuleInfo> BackendRuleTable();

// ---- described machines ----

/// What a demand of a device file asks for.
enum class DemandKind : uint8_t {
  kRowMajor,        ///< {n-1,…,0}
  kColumnMajor,     ///< {0,…,n-1}
  kDimensionMinor,  ///< one dimension is the fastest; the others stay as they are
  kDimensionMajor,  ///< one dimension is the slowest; the others stay as they are
  kNchw,            ///< images of a convolution: batch, feature, spatial
  kNhwc,            ///< images of a convolution: batch, spatial, feature
};
std::string_view DemandKindName(DemandKind kind);

/// Where a demand applies, and what it asks for. One entry of "demands" in a device file.
struct Demand {
  std::string id;                  ///< "square.dot-rhs", unique in the device
  std::string reason;              ///< a sentence
  std::optional<Opcode> opcode;    ///< nothing = every opcode
  std::string custom_call_target;  ///< with opcode custom-call: only this target; empty = any
  std::vector<ElementType> types;  ///< element types of the value; empty = any
  std::optional<uint32_t> min_rank, max_rank;  ///< of the value

  /// Places: operands by number, the result (every array leaf), or both when nothing is said.
  std::vector<uint32_t> operands;
  bool all_operands = false;
  bool result = false;

  std::optional<DemandKind> order;  ///< nothing: the order stays free, only the extras are set
  int64_t dimension = 0;            ///< of kDimensionMinor and kDimensionMajor; -1 = the last
  std::vector<std::vector<int64_t>> tiles;
  int64_t tail_padding_alignment = 1;
  std::optional<int64_t> memory_space;
  bool mandatory = true;
  uint32_t line = 0, column = 0;  ///< in the device file
};

/// A machine as data: what the rules of its backend look at.
struct Device {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;  ///< one line
  Backend backend = Backend::kGeneric;
  Vendor vendor = Vendor::kNone;
  ComputeCapability compute_capability;  ///< kCuda
  std::string gfx;                       ///< kRocm: "gfx90a"
  std::string dnn_version;               ///< "9.1.0"; no layout rule reads it
  int64_t minimum_alignment = 16;        ///< kCpu: bytes at which allocations start at least
  BackendFlags flags;
  std::vector<Demand> demands;  ///< kDescribed
  std::string file;             ///< the device file it came from; empty = built in
  std::string documentation;    ///< a link for the demands of a device file
};

/// The devices that hlokit knows by name.
std::span<const Device> BuiltInDevices();
/// By name or alias, case ignored; otherwise an error with the nearest names.
Result<Device> FindDevice(std::string_view name);
/// Reads a device file (docs/reference/device-file.md). Problems come with file:line:col; demands
/// that meet at one place without contradicting each other are warnings.
Result<Device> ReadDevice(std::string_view json, const std::string& file,
                          std::vector<Diagnostic>* warnings);
/// The device as a device file: what ReadDevice reads.
std::string DeviceText(const Device& device);
/// NAME=VALUE of a row of backend_flags.def.
Status SetBackendFlag(Device& device, std::string_view assignment);

/// What a user says about the backend: flags of the programs, options of the pass.
struct BackendChoice {
  std::string backend;      ///< empty = that of the device, or generic
  std::string device;       ///< a name
  std::string device_file;  ///< a path
  std::vector<std::string> flags;
};
/// The device that a choice names. Nothing was said: the generic backend.
Result<Device> ChooseDevice(const BackendChoice& choice, std::vector<Diagnostic>* warnings);

/// The rules of a device for LayoutAssignmentOptions::rules; null for the generic backend, whose
/// rules are those of the base pass. Keeps a copy of the device.
std::unique_ptr<LayoutRules> MakeLayoutRules(const Device& device);

// ---- what the GPU rules decide, by itself ----

/// Arrangements of the images and filters of a convolution.
enum class ConvLayout : uint8_t { kNchw, kNhwc, kNchwVectC };
/// What the choice of an arrangement looks at (section 4.2).
struct ConvFacts {
  ElementType type = ElementType::kInvalid;  ///< of operand 0
  int spatial_dims = 0;                      ///< of the input
  uint32_t operand_rank = 0;                 ///< of operand 0
  uint32_t result_rank = 0;                  ///< of the result, or its first element
};
struct ConvChoice {
  ConvLayout layout;
  std::string_view row;     ///< of the table of section 4.2, "H9"
  std::string_view reason;  ///< completes "because …"
};
const ConvChoice& ChooseConvLayout(const Device& device, const ConvFacts& facts);

}  // namespace hlokit

#endif  // HLOKIT_BACKEND_H_
