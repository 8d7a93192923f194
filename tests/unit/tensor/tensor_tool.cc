// The command lines of src/tensor as a program of its own, for tests/cli/npy_interop.py.

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "hlokit/pickle.h"
#include "src/tensor/commands.h"
#include "src/tensor/output_file.h"

namespace {

hlokit::Status CopyPickle(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const hlokit::PickleDocument document, hlokit::PickleDocument::Open(from));
  ASSIGN_OR_RETURN(hlokit::internal::OutputFile file, hlokit::internal::OutputFile::Create(to));
  TRY(hlokit::WritePickle(document, {},
                          [&](std::span<const std::byte> bytes) { return file.Write(bytes); }));
  return file.Commit(false);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("tensor test tool");
  int exit_code = 0;
  hlokit::RegisterPermute(app, exit_code);
  std::string from, to;
  CLI::App* copy = app.add_subcommand("copy-pickle", "reads a pickle and writes it again");
  copy->add_option("from", from)->required();
  copy->add_option("to", to)->required();
  copy->callback([&] {
    const hlokit::Status status = CopyPickle(from, to);
    if (!status) fmt::print(stderr, "{}", hlokit::FormatError(status.error(), from));
    exit_code = static_cast<int>(status ? hlokit::ExitCode::kOk : status.error().exit_code);
  });
  CLI11_PARSE(app, argc, argv);
  return exit_code;
}
