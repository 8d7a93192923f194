// Which transposes do one or several io_transposes.json files ask for, all in all?
#include "src/neuron_ir/spec_files.h"

#include <filesystem>
#include <optional>

#include "fmt/format.h"
#include "hlokit/file.h"

namespace hlokit {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 20;
constexpr const char* kDefaultNetlist = "hlo_netlist.json";

Result<std::optional<Netlist>> LoadNetlist(const SpecFiles& source, std::string* file) {
  std::string path = source.netlist;
  if (path.empty()) {
    std::error_code ignored;
    if (std::filesystem::exists(kDefaultNetlist, ignored)) path = kDefaultNetlist;
  }
  if (path.empty()) {
    if (source.files.size() < 2) return std::nullopt;
    return MakeError(ExitCode::kUsage, DiagId::kMissingNetlist,
                     fmt::format("[NCC_IHNW001] {} io_transposes files are given but no netlist",
                                 source.files.size()),
                     "say with --netlist FILE where hlo_netlist.json is");
  }
  *file = path;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxBytes));
  ASSIGN_OR_RETURN(Netlist netlist, ParseNetlist(text));
  return netlist;
}

Result<std::vector<IoTranspose>> LoadOne(const std::string& path, CombinedSpecs& specs) {
  Result<std::string> text = ReadFile(path, kMaxBytes);
  if (!text) {
    Error error = std::move(text).error();
    for (Diagnostic& diagnostic : error.diagnostics)
      diagnostic.message = "[NCC_IHNW002] Cannot open io_transposes file: " + diagnostic.message;
    return std::unexpected(std::move(error));
  }
  ASSIGN_OR_RETURN(IoTransposes read, ParseIoTransposes(*text));
  for (const Diagnostic& warning : read.warnings)
    specs.warnings.push_back(FormatDiagnostic(warning, path));
  return std::move(read.entries);
}

}  // namespace

Result<CombinedSpecs> LoadSpecs(const SpecFiles& source, std::string* file) {
  CombinedSpecs specs;
  ASSIGN_OR_RETURN(const std::optional<Netlist> netlist, LoadNetlist(source, file));
  const std::set<std::string> edges = netlist ? netlist->edges : std::set<std::string>();
  for (size_t i = 0; i < source.files.size(); ++i) {
    *file = source.files[i];
    ASSIGN_OR_RETURN(std::vector<IoTranspose> local, LoadOne(source.files[i], specs));
    if (netlist && source.aliases == AliasRule::kPositions && i < netlist->partitions.size())
      ApplyPositions(netlist->partitions[i], local);
    TRY(CombineIoTransposes(specs.entries, local, edges));
  }
  if (netlist) TRY(PropagateThroughAliases(*netlist, specs.entries));
  if (source.files.size() == 1) specs.file = source.files[0];
  *file = specs.file;
  if (source.files.size() != 1) {
    // Places of several files would be mixed up.
    for (IoTranspose& entry : specs.entries) entry.location = {};
  }
  return specs;
}

}  // namespace hlokit
