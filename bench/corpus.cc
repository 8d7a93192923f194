// How fast are reader, printer and layout assignment on real modules, beside the reference figures?
//
//   corpus_bench [--repetitions N] FILE…
//
// One thread; each figure is the best of N repetitions, in processor time of the process, so that a
// busy machine disturbs less. Memory is what the module holds after reading (Module::MemoryBytes,
// the source text included).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "hlokit/file.h"
#include "hlokit/layout_assignment.h"
#include "hlokit/printer.h"
#include "hlokit/proto.h"
#include "hlokit/reader.h"

namespace {

using namespace hlokit;

double ProcessorSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Figures {
  size_t instructions = 0, text_bytes = 0, printed_bytes = 0, memory_bytes = 0, proto_bytes = 0;
  double read = 0, print = 0, assign = 0, trace = 0, proto = 0;

  void Add(const Figures& other) {
    instructions += other.instructions;
    text_bytes += other.text_bytes;
    printed_bytes += other.printed_bytes;
    memory_bytes += other.memory_bytes;
    read += other.read;
    print += other.print;
    assign += other.assign;
    trace += other.trace;
    proto_bytes += other.proto_bytes;
    proto += other.proto;
  }
};

/// Best of the repetitions for one file; exits on an input that cannot be read or assigned.
Figures Measure(const std::string& path, int repetitions) {
  Result<std::string> text = ReadFile(path);
  if (!text) {
    std::fputs(FormatError(text.error(), path).c_str(), stderr);
    std::exit(1);
  }
  double infinite = std::numeric_limits<double>::infinity();
  Figures best{.text_bytes = text->size(),
               .read = infinite,
               .print = infinite,
               .assign = infinite,
               .trace = infinite,
               .proto = infinite};
  for (int i = 0; i < repetitions; ++i) {
    std::string own = *text;  // the reader takes its text over
    double start = ProcessorSeconds();
    Result<Module> module = ReadText(std::move(own));
    double read = ProcessorSeconds();
    if (!module) {
      std::fputs(FormatError(module.error(), path).c_str(), stderr);
      std::exit(1);
    }
    best.read = std::min(best.read, read - start);
    best.instructions = module->instruction_count();
    best.memory_bytes = module->MemoryBytes();
    start = ProcessorSeconds();
    best.printed_bytes = PrintModule(*module).size();
    best.print = std::min(best.print, ProcessorSeconds() - start);
    Result<std::string> proto = WriteProto(*module);
    if (proto) {
      best.proto_bytes = proto->size();
      start = ProcessorSeconds();
      Result<Module> from_proto = ReadProto(std::move(*proto));
      if (from_proto) best.proto = std::min(best.proto, ProcessorSeconds() - start);
    }
    Result<Module> again = ReadText(*text);
    start = ProcessorSeconds();
    Result<LayoutAssignmentReport> plain = AssignLayouts(*module, {});
    double assigned = ProcessorSeconds();
    LayoutTrace trace;
    LayoutAssignmentOptions options;
    options.trace = &trace;
    double traced_start = ProcessorSeconds();
    Result<LayoutAssignmentReport> traced = AssignLayouts(*again, options);
    double traced_end = ProcessorSeconds();
    if (!plain || !traced) {
      std::fputs(FormatError(plain ? traced.error() : plain.error(), path).c_str(), stderr);
      std::exit(1);
    }
    best.assign = std::min(best.assign, assigned - start);
    best.trace = std::min(best.trace, traced_end - traced_start);
  }
  return best;
}

void PrintRow(std::string_view name, const Figures& f) {
  double n = static_cast<double>(f.instructions);
  fmt::print("{:<58} {:>8} {:>7.1f} {:>7.0f} {:>7.0f} {:>8.0f} {:>6.2f} {:>6.0f} {:>6.0f}\n", name,
             f.instructions, static_cast<double>(f.text_bytes) / 1e6,
             static_cast<double>(f.text_bytes) / f.read / 1e6,
             static_cast<double>(f.printed_bytes) / f.print / 1e6, n / f.assign / 1e3,
             f.trace / f.assign, static_cast<double>(f.memory_bytes) / n,
             static_cast<double>(f.proto_bytes) / f.proto / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  int repetitions = 5;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--repetitions" && i + 1 < argc) {
      repetitions = std::max(1, std::atoi(argv[++i]));
    } else {
      files.push_back(argument);
    }
  }
  if (files.empty()) {
    std::fputs("usage: corpus_bench [--repetitions N] FILE...\n", stderr);
    return 2;
  }
  fmt::print("{:<58} {:>8} {:>7} {:>7} {:>7} {:>8} {:>6} {:>6} {:>6}\n", "", "instr.", "MB", "read",
             "print", "assign", "trace", "memory", "proto");
  fmt::print("{:<58} {:>8} {:>7} {:>7} {:>7} {:>8} {:>6} {:>6}\n", "", "", "", "MB/s", "MB/s",
             "k/s", "x", "B/ins");
  Figures total;
  for (const std::string& file : files) {
    Figures figures = Measure(file, repetitions);
    total.Add(figures);
    size_t slash = file.find_last_of('/');
    PrintRow(slash == std::string::npos ? file : file.substr(slash + 1), figures);
  }
  PrintRow("all", total);
  fmt::print("{:<58} {:>8} {:>7} {:>7} {:>7} {:>8} {:>6} {:>6} {:>6}\n",
             "reference figures (21 modules of the corpus)", 245889, "27.2", 28, 140, 126, "-", 926,
             50);
  return 0;
}
