// What does `hlokit permute` do? Reads a mapped .npy file, reshapes and transposes it as numpy
// would, and writes the result in pieces, so that neither file has to fit into memory.

#include "src/tensor/commands.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <memory>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "hlokit/npy.h"
#include "hlokit/permute.h"
#include "src/tensor/progress.h"
#include "src/tensor/tensor_io.h"

namespace hlokit {
namespace {

struct PermuteArguments {
  std::string input;
  std::string output;
  std::string reshape;
  std::string transpose;
  int element_bits = 0;
  bool high_nibble_first = false;
  int threads = 0;
  bool sync = false;
};

/// Standard output, for `-o -`.
Status WriteToStdout(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
    return MakeError(ExitCode::kIo, DiagId::kCannotWrite, "cannot write standard output");
  }
  return {};
}

Status RunPermute(const PermuteArguments& arguments) {
  ASSIGN_OR_RETURN(const NpyFile file, NpyFile::Open(arguments.input));
  ArrayInfo input = file.array();
  const bool packed = arguments.element_bits == 4;
  if (packed) {
    // Two elements per byte: the bytes are counted as one long row of elements.
    input.shape = {input.bytes * 2};
    input.fortran_order = false;
  }
  std::vector<int64_t> reshape = input.shape;
  if (!arguments.reshape.empty()) {
    ASSIGN_OR_RETURN(reshape, ParseIntegerList(arguments.reshape, "--reshape"));
  }
  std::vector<int64_t> transpose(reshape.size());
  for (size_t i = 0; i < transpose.size(); ++i)
    transpose[i] = static_cast<int64_t>(transpose.size() - 1 - i);
  if (!arguments.transpose.empty()) {
    ASSIGN_OR_RETURN(transpose, ParseIntegerList(arguments.transpose, "--transpose"));
  }
  ASSIGN_OR_RETURN(const TransposedArray moved,
                   TransposedArray::Make(input, file.data(), reshape, transpose,
                                         packed ? 4 : static_cast<int64_t>(input.item_bytes) * 8,
                                         !arguments.high_nibble_first));
  ArrayInfo output = moved.info();
  if (packed) {
    output.descr = file.array().descr;
    output.item_bytes = file.array().item_bytes;
    output.shape = {output.bytes / std::max<int64_t>(1, output.item_bytes)};
  }
  internal::Progress progress("permute");
  const PermuteOptions options{.threads = arguments.threads};
  const auto write = [&](const ByteSink& sink) {
    return moved.Write(sink, options,
                       [&](int64_t done, int64_t total) { progress.Update(done, total); });
  };
  if (arguments.output != "-") return WriteNpyFile(arguments.output, output, write, arguments.sync);
  const std::string header = MakeNpyHeader(output);
  TRY(WriteToStdout(std::as_bytes(std::span(header.data(), header.size()))));
  TRY(write(WriteToStdout));
  if (std::fflush(stdout) != 0)
    return MakeError(ExitCode::kIo, DiagId::kCannotWrite, "cannot write standard output");
  return {};
}

constexpr const char* kHelp =
    "Reshape and transpose a .npy file as numpy would, at memory speed.\n"
    "\n"
    "Examples:\n"
    "  hlokit permute w.npy --transpose 1,0 -o wt.npy\n"
    "  hlokit permute w.npy --reshape 3,2048,2,128 --transpose 0,3,2,1 -o wt.npy\n"
    "  hlokit permute packed.npy --element-bits 4 --reshape 4096,4096 --transpose 1,0 -o out.npy\n"
    "\n"
    "The output is row-major. Files may be larger than memory.\n";

}  // namespace

Result<std::vector<int64_t>> ParseIntegerList(const std::string& text, const std::string& option) {
  std::vector<int64_t> values;
  const char* at = text.data();
  const char* end = at + text.size();
  const auto skip = [&](std::string_view set) {
    while (at != end && set.find(*at) != std::string_view::npos) ++at;
  };
  skip(" [(");
  while (at != end && *at != ']' && *at != ')') {
    int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) {
      return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                       fmt::format("{} '{}' is not a list of integers", option, text),
                       "write it like 3,2048,2,128");
    }
    values.push_back(value);
    at = next;
    skip(" ,");
  }
  skip(" ])");
  if (at != end) {
    return MakeError(ExitCode::kUsage, DiagId::kUsageError,
                     fmt::format("{} '{}' is not a list of integers", option, text),
                     "write it like 3,2048,2,128");
  }
  return values;
}

void RegisterPermute(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("permute", kHelp);
  auto arguments = std::make_shared<PermuteArguments>();
  command->add_option("input", arguments->input, "the .npy file to read")->required();
  command
      ->add_option("-o,--output", arguments->output, "the .npy file to write; - is standard output")
      ->required();
  command->add_option("--reshape", arguments->reshape,
                      "shape to fold the elements into, for instance 3,2048,2,128");
  command->add_option("--transpose", arguments->transpose,
                      "order of the axes after that; default: reversed");
  command
      ->add_option("--element-bits", arguments->element_bits,
                   "4 for packed 4-bit elements; default: as in the file")
      ->check(CLI::IsMember({4}));
  command->add_flag("--high-nibble-first", arguments->high_nibble_first,
                    "packed 4-bit: the first element of a byte is its high half");
  command->add_option("--threads", arguments->threads, "threads; default: two")
      ->check(CLI::Range(1, 64));
  command->add_flag("--sync", arguments->sync, "wait until the bytes are on the disk");
  command->callback([arguments, &exit_code] {
    const Status status = RunPermute(*arguments);
    if (!status) fmt::print(stderr, "{}", FormatError(status.error(), arguments->input));
    exit_code = static_cast<int>(status ? ExitCode::kOk : status.error().exit_code);
  });
}

}  // namespace hlokit
