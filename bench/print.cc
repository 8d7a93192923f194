// How fast is a module printed? Names of HLO files on the command line are read first and printed
// as one benchmark each; without any, a module of our own making serves:
//   bench_print [--benchmark_…] [FILE…]
// Speed is bytes of text per second of one core.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "hlokit/file.h"
#include "hlokit/printer.h"
#include "hlokit/reader.h"

namespace hlokit {
namespace {

/// Layers as transformers have them: dots, broadcasts, tuples, calls, metadata on every line.
std::string LayersText(int layers) {
  std::string text =
      "HloModule layers\n\n"
      "add_f {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, "
      "y)\n}\n\n"
      "ENTRY main {\n"
      "  h0 = bf16[8,2048,4096]{2,1,0} parameter(0)\n"
      "  w = bf16[4096,4096]{1,0} parameter(1)\n"
      "  zero = f32[] constant(0)\n";
  for (int i = 0; i < layers; ++i) {
    const std::string meta = fmt::format(
        "metadata={{op_name=\"jit(step)/transformer/layer_{}/attention/dot_general\" "
        "source_file=\"/src/model.py\" source_line={}}}",
        i, 100 + i % 7);
    text += fmt::format(
        "  dot{0} = bf16[8,2048,4096]{{2,1,0}} dot(h{0}, w), lhs_contracting_dims={{2}}, "
        "rhs_contracting_dims={{0}}, {1}\n"
        "  wide{0} = f32[8,2048,4096]{{2,1,0}} convert(dot{0}), {1}\n"
        "  sum{0} = f32[8,2048]{{1,0}} reduce(wide{0}, zero), dimensions={{2}}, to_apply=add_f, "
        "{1}\n"
        "  spread{0} = f32[8,2048,4096]{{2,1,0}} broadcast(sum{0}), dimensions={{0,1}}, {1}\n"
        "  centered{0} = f32[8,2048,4096]{{2,1,0}} subtract(wide{0}, spread{0}), {1}\n"
        "  h{2} = bf16[8,2048,4096]{{2,1,0}} convert(centered{0}), "
        "sharding={{devices=[8,1,1]<=[8]}}, {1}\n",
        i, meta, i + 1);
  }
  text += fmt::format("  ROOT out = bf16[8,2048,4096]{{2,1,0}} copy(h{})\n}}\n", layers);
  return text;
}

void Print(benchmark::State& state, const Module& module, const PrintOptions& options) {
  size_t bytes = 0;
  for ([[maybe_unused]] auto _ : state) {
    const std::string text = PrintModule(module, options);
    benchmark::DoNotOptimize(text.data());
    bytes += text.size();
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}

/// Reads one text and registers its benchmarks. False when it cannot be read.
bool Register(const std::string& name, std::string text,
              std::vector<std::unique_ptr<Module>>* modules) {
  Result<Module> module = ReadText(std::move(text));
  if (!module) {
    std::fputs(FormatError(module.error(), name).c_str(), stderr);
    return false;
  }
  modules->push_back(std::make_unique<Module>(std::move(*module)));
  const Module* kept = modules->back().get();
  benchmark::RegisterBenchmark((name + "/default").c_str(), [kept](benchmark::State& state) {
    Print(state, *kept, PrintOptions::Default());
  });
  benchmark::RegisterBenchmark((name + "/short").c_str(), [kept](benchmark::State& state) {
    Print(state, *kept, PrintOptions::Short());
  });
  return true;
}

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::vector<std::unique_ptr<Module>> modules;
  if (argc == 1 && !Register("layers", LayersText(20000), &modules)) return 1;
  for (int i = 1; i < argc; ++i) {
    Result<std::string> text = ReadFile(argv[i]);
    if (!text) {
      std::fputs(FormatError(text.error()).c_str(), stderr);
      return 1;
    }
    const std::string path = argv[i];
    if (!Register(path.substr(path.rfind('/') + 1), std::move(*text), &modules)) return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace hlokit

int main(int argc, char** argv) { return hlokit::Main(argc, argv); }
