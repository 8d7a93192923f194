// Does copy insertion leave every value in its buffer until it is read?
//
//   prove_buffers [--seeds N] [--passes PIPELINE] [--break] FILE-OR-FOLDER...
//
// Runs the pipeline on each module, and then the module with tokens in shared buffers (see
// buffer_run.h), in N random orders. --break takes the copies of the result out one at a time, and
// counts how many of the broken modules are noticed. Exit code 1 when a token was overwritten, or
// when nothing was checked.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "hlokit/file.h"
#include "hlokit/pass.h"
#include "hlokit/reader.h"
#include "hlokit/rewriter.h"
#include "hlokit/verifier.h"
#include "tests/proof/buffer_run.h"

namespace hlokit {
namespace {

struct Counts {
  int64_t modules = 0, refused = 0, gave_up = 0, reads = 0, wrong = 0, copies = 0;
  int64_t broken = 0, noticed = 0;
};

std::vector<std::string> Files(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".hlo") found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The first problem in some orders; empty when there is none.
std::string Problem(const Module& module, uint64_t seeds, Counts* counts) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Result<BufferRun> run = RunInBuffers(module, seed);
    if (!run) return FormatError(run.error());
    counts->reads += run->reads;
    if (!run->problem.empty()) return run->problem;
    if (run->gave_up) {
      ++counts->gave_up;
      return "";
    }
  }
  return "";
}

/// Takes each copy out, alone.
void Break(const Module& module, uint64_t seeds, Counts* counts) {
  for (CompId computation : module.computation_order()) {
    for (InstId inst : module.computation(computation).instructions) {
      if (module.opcode(inst) != Opcode::kCopy) continue;
      if (module.shape(inst) != module.shape(module.operand(inst, 0))) continue;
      Module broken = module;
      {
        Rewriter rewriter(broken);
        rewriter.DropControlEdges(inst);
        rewriter.ReplaceUses(inst, broken.operand(inst, 0));
        rewriter.Remove(inst);
      }
      Counts ignored;
      ++counts->broken;
      counts->noticed += !Problem(broken, seeds, &ignored).empty();
    }
  }
}

int Main(int argc, char** argv) {
  uint64_t seeds = 8;
  std::string passes = "flatten-call-graph,copy-insertion";
  bool break_copies = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--seeds" && i + 1 < argc) {
      seeds = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--passes" && i + 1 < argc) {
      passes = argv[++i];
    } else if (word == "--break") {
      break_copies = true;
    } else {
      for (std::string& file : Files(word)) files.push_back(std::move(file));
    }
  }
  Result<Pipeline> pipeline = ParsePipeline(passes);
  if (!pipeline) {
    std::printf("%s\n", FormatError(pipeline.error()).c_str());
    return 1;
  }
  Counts counts;
  for (const std::string& file : files) {
    Result<std::string> text = ReadFile(file);
    if (!text) continue;
    Result<Module> module = ReadText(std::move(*text));
    if (!module || !VerifyModule(*module)) continue;
    if (!RunPipeline(*module, *pipeline)) {
      ++counts.refused;
      continue;
    }
    ++counts.modules;
    for (CompId computation : module->computation_order()) {
      for (InstId inst : module->computation(computation).instructions) {
        counts.copies += module->opcode(inst) == Opcode::kCopy;
      }
    }
    if (std::string problem = Problem(*module, seeds, &counts); !problem.empty()) {
      ++counts.wrong;
      std::printf("%s: %s\n", file.c_str(), problem.c_str());
    } else if (break_copies) {
      Break(*module, seeds, &counts);
    }
  }
  std::printf("%ld modules (%ld refused, %ld given up), %ld copies, %ld reads checked, %ld wrong\n",
              counts.modules, counts.refused, counts.gave_up, counts.copies, counts.reads,
              counts.wrong);
  if (break_copies) {
    std::printf("%ld copies taken out, %ld noticed\n", counts.broken, counts.noticed);
  }
  return counts.wrong == 0 && counts.reads > 0 ? 0 : 1;
}

}  // namespace
}  // namespace hlokit

int main(int argc, char** argv) { return hlokit::Main(argc, argv); }
