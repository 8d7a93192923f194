#ifndef HLOKIT_INPUT_H_
#define HLOKIT_INPUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlokit/module.h"
#include "hlokit/proto.h"
#include "hlokit/result.h"

namespace hlokit {

/// What a file holds, judged by its contents (docs/reference/formats.md).
enum class InputFormat : uint8_t {
  kAuto,   ///< find out
  kText,   ///< HLO text: a module or a single instruction
  kProto,  ///< one of ProtoKind, binary
  kPbtxt,  ///< one of ProtoKind, as text
  kLog,    ///< output of a program with modules in it
};
/// "auto", "text", "proto", "pbtxt", "log".
std::string_view InputFormatName(InputFormat format);
/// Nothing when the word is none of those names.
std::optional<InputFormat> InputFormatFromName(std::string_view name);

/// Looks at contents that are not compressed. kAuto when they are in no known format.
InputFormat DetectFormat(std::string_view contents);

struct LoadOptions {
  InputFormat format = InputFormat::kAuto;
  /// Unknown opcodes and attributes are errors instead of being kept with a warning.
  bool strict = false;
  /// Text only: shapes without a layout get {n-1,…,0}.
  bool fill_missing_layouts = true;
  /// Largest file, also after decompression. Compressed files may also not grow by more than a
  /// factor of 300 beyond 256 MiB.
  size_t max_bytes = size_t{4} << 30;
};

struct LoadedModule {
  Module module;
  /// The file that was read, for messages; of a log also the name of the block.
  std::string name;
  InputFormat format = InputFormat::kText;
  bool compressed = false;
  /// What stood around the module (protos only).
  ProtoWrapper wrapper;
};

/// Opens everything that a user can name: FILE, - (standard input), DIR, DIR:module,
/// DIR:module:stage, and LOG:module:stage. Folders and logs are described in
/// docs/reference/dump-folders.md: `module` is a name or number, `stage` a name such as
/// before_optimizations, a step number, or the name of a pass (the module behind it). Without them
/// the largest module and its first stage are taken, with a warning when there was a choice. Fails
/// with kIo, kCannotParse or kUsage.
Result<LoadedModule> LoadModule(const std::string& spec, const LoadOptions& options = {},
                                std::vector<Diagnostic>* warnings = nullptr);

/// Reads a module from contents at hand. `name` is for messages.
Result<LoadedModule> LoadContents(std::string contents, const std::string& name,
                                  const LoadOptions& options = {},
                                  std::vector<Diagnostic>* warnings = nullptr);

// ---- dump folders ----

/// Where in a compilation was a module written?
enum class StageKind : uint8_t {
  kBefore,  ///< before_optimizations
  kStep,    ///< between two passes, or inside a pass
  kAfter,   ///< after_optimizations and what else comes late
  kOther,   ///< belongs to the module and holds no module: buffer assignments, options, pictures
};

/// One file of a dump folder, or one block of a log.
struct DumpFile {
  std::string path;       ///< relative to the folder; the title of a block
  std::string stage;      ///< "before_optimizations", "after_layout-assignment", …
  std::string pipeline;   ///< kStep only
  std::string pass;       ///< kStep only: the pass that has just run
  std::string next_pass;  ///< kStep only; empty inside a pass
  std::string extension;  ///< "txt", "hlo.pb", "hlo.pb.gz", …
  int64_t step = -1;      ///< kStep only: number in the file name
  StageKind kind = StageKind::kOther;
  uint64_t bytes = 0;
  bool HoldsModule() const;
};

/// The files of one module in the order of the compilation.
struct DumpModule {
  std::string subfolder;
  std::string timestamp;
  int64_t id = -1;  ///< number in the file names; -1 for files that are named otherwise
  std::string name;
  std::vector<DumpFile> files;
  uint64_t bytes = 0;
};

struct DumpFolder {
  std::string path;
  std::vector<DumpModule> modules;
};

/// The parts of a file name that follows the rules of XLA dumps; nothing for other names.
struct DumpName {
  std::string timestamp;
  int64_t id = -1;
  std::string name;  ///< empty when the stage is not a known one: then `file.stage` holds both
  DumpFile file;
};
std::optional<DumpName> ParseDumpName(std::string_view file_name);

/// Groups the files of a folder by module. Looks into sub-folders (four deep), follows no links.
Result<DumpFolder> ScanDumpFolder(const std::string& path);

/// Groups names (paths relative to a folder) with their sizes.
DumpFolder GroupDumpFiles(const std::vector<std::pair<std::string, uint64_t>>& files);

/// The module and file that "module:stage" asks for; see LoadModule.
Result<const DumpFile*> ChooseDumpFile(const DumpFolder& folder, std::string_view module,
                                       std::string_view stage, std::vector<Diagnostic>* warnings);

// ---- logs ----

/// A module in the output of a program: between "*** Begin NAME ***" and "*** End NAME ***", or
/// pasted without such lines (then the name is empty). Log prefixes are taken off the lines.
struct LogBlock {
  std::string name;
  std::string contents;
};
std::vector<LogBlock> ExtractLogBlocks(std::string_view log);

// ---- compression ----

bool IsGzip(std::string_view bytes);
/// All members of a gzip file, one after the other. Fails with kCannotParse when it is damaged, and
/// when it is larger than `max_bytes`.
Result<std::string> Decompress(std::string_view bytes, size_t max_bytes = size_t{4} << 30);
/// Without a time stamp: the same input gives the same bytes.
Result<std::string> Compress(std::string_view bytes);

}  // namespace hlokit

#endif  // HLOKIT_INPUT_H_
