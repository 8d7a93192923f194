// The files of the Neuron flow and of tensors: pickles, .npy headers, io_transposes.json, netlists,
// device files. The first byte says which.
#include <cstdint>
#include <string>
#include <vector>

#include "hlokit/backend.h"
#include "hlokit/io_transposes.h"
#include "hlokit/npy.h"
#include "hlokit/pickle.h"
#include "src/neuron_ir/netlist.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hlokit;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: {
      const Result<PickleDocument> document = PickleDocument::Parse(bytes, {.max_objects = 10000});
      if (!document) break;
      // What can be read can be written, and read again.
      std::string written;
      const Status status =
          WritePickle(*document, {}, [&](std::span<const std::byte> part) -> Status {
            written.append(reinterpret_cast<const char*>(part.data()), part.size());
            return {};
          });
      if (status && !PickleDocument::Parse(written)) __builtin_trap();
      break;
    }
    case 1:
      static_cast<void>(ParseNpyHeader(bytes, size - 1));
      break;
    case 2: {
      const Result<IoTransposes> transposes = ParseIoTransposes(bytes);
      if (!transposes) break;
      for (const IoTranspose& entry : transposes->entries) {
        const Result<IoTranspose> once = SimplifyIoTranspose(entry, entry.reshape);
        if (once && once->reshape.size() > entry.reshape.size()) __builtin_trap();
      }
      if (!ParseIoTransposes(WriteIoTransposes(transposes->entries))) __builtin_trap();
      break;
    }
    case 3:
      static_cast<void>(ParseNetlist(bytes));
      break;
    default: {
      std::vector<Diagnostic> warnings;
      static_cast<void>(ReadDevice(bytes, "device.json", &warnings));
    }
  }
  return 0;
}
