// How does a module become as small as it can while it still shows something?
//
// One kind of edit after the other, in chunks that halve. The candidates of a sweep are tried by
// several threads; the first one in order that is kept counts, so that the answer does not depend
// on timing. Every thread reads the module for itself, since modules that share pools must stay on
// one thread.
#include "hlokit/reduce.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "hlokit/printer.h"
#include "hlokit/reader.h"
#include "hlokit/verifier.h"
#include "src/reduce/edits.h"

namespace hlokit {
namespace {

using reduce::EditKind;

std::string Print(const Module& module) {
  PrintOptions options;
  options.large_constants = true;
  return PrintModule(module, options);
}

class Reducer {
 public:
  Reducer(const ReduceOptions& options, unsigned threads) : options_(options), threads_(threads) {}
  Result<ReducedModule> Run(const std::string& text);

 private:
  /// Goes once over all targets of a kind; true when something got smaller.
  bool Sweep(EditKind kind);
  bool SweepChunks(EditKind kind, size_t chunk);
  /// The first chunk from `from` on that is kept, in chunks.
  std::optional<size_t> FirstKept(EditKind kind, size_t chunk, size_t from, size_t targets);
  bool IsKept(Module& candidate, std::string* text, unsigned thread);
  void Accept(std::string text);

  const ReduceOptions& options_;
  unsigned threads_;
  std::string text_;
  bool verified_ = true;
  ReduceProgress progress_;
  std::atomic<uint64_t> tried_ = 0;
  std::string found_;
};

/// The candidate must be valid, and read again as what was written.
bool Reducer::IsKept(Module& candidate, std::string* text, unsigned thread) {
  ++tried_;
  if (verified_ && !VerifyModule(candidate)) return false;
  *text = Print(candidate);
  Result<Module> again = ReadText(*text);
  return again.has_value() && options_.keep(*again, *text, thread);
}

std::optional<size_t> Reducer::FirstKept(EditKind kind, size_t chunk, size_t from, size_t targets) {
  const size_t chunks = (targets + chunk - 1) / chunk;
  std::atomic<size_t> next = from;
  std::atomic<size_t> best = chunks;
  std::mutex mutex;
  auto work = [&](unsigned thread) {
    Result<Module> base = ReadText(text_);
    if (!base) return;
    for (size_t at = next++; at < best; at = next++) {
      std::optional<Module> candidate =
          reduce::ApplyEdit(*base, kind, at * chunk, std::min(targets, at * chunk + chunk));
      std::string text;
      if (!candidate || !IsKept(*candidate, &text, thread)) continue;
      std::lock_guard<std::mutex> lock(mutex);
      if (at >= best) continue;
      best = at;
      found_ = std::move(text);
    }
  };
  std::vector<std::thread> threads;
  const size_t wanted = std::min<size_t>(threads_, chunks - from);
  for (unsigned i = 1; i < wanted; ++i) threads.emplace_back(work, i);
  work(0);
  for (std::thread& thread : threads) thread.join();
  if (best == chunks) return std::nullopt;
  return best;
}

void Reducer::Accept(std::string text) {
  text_ = std::move(text);
  ++progress_.kept;
  progress_.tried = tried_;
  Result<Module> module = ReadText(text_);
  if (!module) return;
  progress_.instructions = progress_.computations = 0;
  for (CompId computation : module->computation_order()) {
    ++progress_.computations;
    progress_.instructions += module->computation(computation).instructions.size();
  }
  if (options_.progress) options_.progress(progress_);
}

bool Reducer::SweepChunks(EditKind kind, size_t chunk) {
  bool any = false;
  size_t from = 0;
  while (true) {
    Result<Module> module = ReadText(text_);
    if (!module) return any;
    size_t targets = reduce::CountTargets(*module, kind);
    if (from * chunk >= targets) return any;
    std::optional<size_t> kept = FirstKept(kind, chunk, from, targets);
    if (!kept) return any;
    Accept(std::move(found_));
    any = true;
    from = *kept;  // what stood behind it stands here now
  }
}

bool Reducer::Sweep(EditKind kind) {
  Result<Module> module = ReadText(text_);
  if (!module) return false;
  bool any = false;
  for (size_t chunk = reduce::CountTargets(*module, kind); chunk > 0; chunk /= 2) {
    any |= SweepChunks(kind, chunk);
  }
  return any;
}

Result<ReducedModule> Reducer::Run(const std::string& text) {
  ASSIGN_OR_RETURN(Module module, ReadText(text));
  verified_ = VerifyModule(module).has_value();
  std::string first = Print(module);
  {
    ASSIGN_OR_RETURN(Module again, ReadText(first));
    if (!options_.keep(again, first, 0)) {
      return MakeError(ExitCode::kCheckFailed, DiagId::kKeepNotShown,
                       "the module does not show what is to be kept",
                       "try the condition on the module itself first");
    }
  }
  Accept(std::move(first));
  progress_.kept = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (EditKind kind : reduce::kEditKinds) changed |= Sweep(kind);
  }
  progress_.tried = tried_;
  return ReducedModule{std::move(text_), progress_};
}

}  // namespace

Result<ReducedModule> ReduceModule(const std::string& text, const ReduceOptions& options) {
  unsigned threads = options.threads != 0 ? options.threads : std::thread::hardware_concurrency();
  return Reducer(options, std::max(1u, threads)).Run(text);
}

}  // namespace hlokit
