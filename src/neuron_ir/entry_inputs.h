#ifndef HLOKIT_SRC_NEURON_IR_ENTRY_INPUTS_H_
#define HLOKIT_SRC_NEURON_IR_ENTRY_INPUTS_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/io_transposes.h"
#include "hlokit/module.h"

namespace hlokit {

/// The name under which the Neuron tools know an instruction: its neff_input_names if it has that
/// frontend attribute, else the name in the module.
std::string FrontendName(const Module& module, InstId id);
/// Does it carry neff_input_names?
bool HasFrontendName(const Module& module, InstId id);

/// The parameters of the entry by every name that io_transposes.json may use for them.
class EntryInputs {
 public:
  /// Fails with kCheckFailed (N021) when two parameters carry the same neff_input_names: a
  /// transpose of that name could mean either.
  static Result<EntryInputs> Of(const Module& module);

  /// The parameter number: neff_input_names first, then the name in the module.
  std::optional<size_t> Find(std::string_view name) const;
  /// By parameter number: what a writer should call them.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, size_t, std::less<>> by_frontend_name_, by_instruction_name_;
};

/// What is wrong with a transpose of this parameter; nothing when it fits. Codes: N007 (no
/// permutation), N008 with NCC_IHNW003 (element counts), N022 (no array of fixed size).
std::optional<Diagnostic> SpecProblem(const Module& module, InstId parameter,
                                      const IoTranspose& spec);

/// The diagnostic for a name that no parameter has (N021).
Diagnostic NoSuchInput(const IoTranspose& spec, const EntryInputs& inputs);

}  // namespace hlokit

#endif  // HLOKIT_SRC_NEURON_IR_ENTRY_INPUTS_H_
