// Binary protos: whatever the bytes are, reading ends with a module or an error, and a module that
// was read can be printed and written.
#include <cstdint>
#include <cstdlib>

#include "hlokit/printer.h"
#include "hlokit/proto.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hlokit;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  ProtoToPbtxt(bytes, ProtoKind::kHlo);
  ProtoToJson(bytes, ProtoKind::kSnapshot);
  ProtoWrapper wrapper;
  Result<Module> module = ReadProto(bytes, {}, &wrapper);
  if (!module) return 0;
  PrintModule(*module);
  Result<std::string> written = WriteProto(*module, wrapper);
  if (!written) return 0;
  Result<Module> again = ReadProto(*written, {.kind = wrapper.kind});
  if (!again) std::abort();  // what we write must be readable
  return 0;
}
