#ifndef HLOKIT_NEFF_WRAPPER_H_
#define HLOKIT_NEFF_WRAPPER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/io_transposes.h"
#include "hlokit/module.h"
#include "hlokit/result.h"

namespace hlokit {

/// The target of the custom call that carries a NEFF.
inline constexpr std::string_view kNeffTarget = "AwsNeuronNeff";

/// Choices that public sources leave open; docs/reference/hlo-neff-wrapper.md says why the defaults
/// are what they are.
struct NeffWrapperOptions {
  /// How transposes are told: as calls of small computations behind the parameters, as the
  /// attribute required_transpose, or both ways.
  bool calls = true;
  bool attribute = true;
  /// The computations end with a reshape back to the shape of the parameter.
  bool reshape_back = true;
  /// valid_inputs is a 0/1 mask over the operands; else the names of the transposed inputs.
  bool mask = true;
  /// A tuple result is taken apart and put together again by get-tuple-element and tuple.
  bool tuple_elements = false;
  /// Constants of the entry that carry neff_input_names become operands behind the parameters.
  bool constant_inputs = true;
  /// CustomCallApiVersion; 0 = unspecified, 1 = original.
  int64_t api_version = 0;
};

/// A module that has the parameters, result and header of `module` and whose entry is one custom
/// call with `neff` as backend config. Nothing when there are neither transposes nor zero-sized
/// parameters: then no file is written. Fails with kCheckFailed: N007, N008 (NCC_IHNW003), N021,
/// N022, I003 (a NEFF that no proto can hold).
Result<std::optional<Module>> WrapNeff(const Module& module, std::string_view neff,
                                       std::span<const IoTranspose> specs,
                                       const NeffWrapperOptions& options = {});

/// One operand of the custom call.
struct NeffInput {
  std::string name;
  int64_t parameter = -1;                ///< -1: no parameter (a constant)
  ShapeId shape;                         ///< of the parameter
  ShapeId received;                      ///< of the operand
  std::string valid;                     ///< its entry of the mask; empty without mask
  std::optional<IoTranspose> call;       ///< what the called computation does
  std::optional<IoTranspose> attribute;  ///< what required_transpose says
  std::string computation;               ///< name of the called computation
};

/// What a wrapped module contains.
struct WrappedNeff {
  InstId custom_call;
  std::vector<NeffInput> inputs;
  std::string_view payload;        ///< the NEFF, in the text of the module
  std::string valid_inputs;        ///< as it stands
  std::string required_transpose;  ///< as it stands
  std::vector<std::string> notes;  ///< what is unusual
};

/// Reads a wrapped module. Fails with kCheckFailed: N022 when the entry has no such custom call or
/// more than one, N005 when one parameter is transposed by two calls.
Result<WrappedNeff> InspectNeff(const Module& module);

}  // namespace hlokit

#endif  // HLOKIT_NEFF_WRAPPER_H_
