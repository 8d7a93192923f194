#ifndef HLOKIT_PRINTER_H_
#define HLOKIT_PRINTER_H_

#include <string>

#include "hlokit/module.h"

namespace hlokit {

/// The option sets of hlo-text.md section 12.
struct PrintOptions {
  bool large_constants = false;
  bool metadata = true;
  bool backend_config = true;
  bool operand_shapes = false;
  bool percent = true;
  bool signature = true;
  bool control_predecessors = true;
  bool index_comments = true;   ///< /*index=5*/ between operands
  bool layouts = true;

  static PrintOptions Default() { return {}; }
  static PrintOptions Short() {
    return {.large_constants = true, .metadata = false, .percent = false, .signature = false,
            .control_predecessors = false, .index_comments = false};
  }
};

/// The module as text, as XLA prints dumps.
std::string PrintModule(const Module& module, const PrintOptions& options = {});

/// One instruction line without indentation and line break: "%name = shape opcode(%a), attr=…".
std::string PrintInstruction(const Module& module, InstId id, const PrintOptions& options = {});

/// Orders of printing (hlo-text.md sections 11.3 and 11.4).
std::vector<CompId> ComputationPostOrder(const Module& module);
std::vector<InstId> InstructionPostOrder(const Module& module, CompId computation);

}  // namespace hlokit

#endif  // HLOKIT_PRINTER_H_
