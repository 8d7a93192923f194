// Does any text make the reader or the printer crash, hang or eat memory?
// Invariant: what is read can be printed, what is printed can be read, and from the second print on
// the text stays the same. (The order of computations may change once; strict reading refuses some
// of what XLA prints.)

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "hlokit/printer.h"
#include "hlokit/reader.h"

/// The reference prints negative zero as -0 and reads that as 0 (docs/reference/text-format.md):
/// left out here.
static std::string WithoutNegativeZero(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool ends = i + 2 >= text.size() || std::string_view(" ,)}").contains(text[i + 2]);
    if (!(ends && text.compare(i, 2, "-0") == 0)) out += text[i];
  }
  return out;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  for (bool strict : {false, true}) {
    hlokit::Result<hlokit::Module> module = hlokit::ReadText(text, {.strict = strict});
    if (!module) {
      // Every failure says something, at a place inside the text.
      if (module.error().diagnostics.empty()) std::abort();
      continue;
    }
    if (strict) continue;
    std::string printed = WithoutNegativeZero(hlokit::PrintModule(*module));
    for (int round = 0; round < 2; ++round) {
      hlokit::Result<hlokit::Module> again = hlokit::ReadText(printed);
      if (!again) {
        std::fprintf(stderr, "what was printed cannot be read:\n%s%s", printed.c_str(),
                     hlokit::FormatError(again.error()).c_str());
        std::abort();
      }
      std::string printed_again = WithoutNegativeZero(hlokit::PrintModule(*again));
      bool same =
          printed_again.size() == printed.size() && (round == 0 || printed_again == printed);
      if (!same) {
        std::fprintf(stderr, "first:\n%s\nsecond:\n%s", printed.c_str(), printed_again.c_str());
        std::abort();
      }
      printed = std::move(printed_again);
    }
  }
  return 0;
}
