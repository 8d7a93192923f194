// How do modules get in and out?
#ifndef HLOKIT_TOOLS_HLO_OPT_LOAD_H_
#define HLOKIT_TOOLS_HLO_OPT_LOAD_H_

#include <string>
#include <vector>

#include "hlokit/input.h"
#include "tools/hlo_opt/flags.h"

namespace hlokit {

/// A module, and what stood around it when it came from a proto.
struct Piece {
  Module module;
  ProtoWrapper wrapper;
};

/// Reads the input: a file (text, proto, text proto, log, each also gzipped), a dump folder, or -
/// for standard input; with --split-input-file one module per piece. All pieces are read before
/// anything runs; problems of all of them are reported, with their lines in the file.
Result<std::vector<Piece>> LoadPieces(const HloOptFlags& flags, std::vector<Diagnostic>* warnings);

/// Cuts the text at every "// -----" (hlo-opt-cli.md section 1.2). Fails with kUsage (P019).
Result<std::vector<std::string>> SplitModules(std::string text, bool split);

/// All modules in the wanted format: text, each followed by a line break, or one proto.
Result<std::string> PrintPieces(const std::vector<Piece>& pieces, InputFormat format,
                                const HloOptFlags& flags);

}  // namespace hlokit

#endif  // HLOKIT_TOOLS_HLO_OPT_LOAD_H_
