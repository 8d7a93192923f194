// Everything else that a user can hand in: gzip, text protos, logs, names of dump files.
#include <cstdint>

#include "hlokit/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hlokit;
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      Decompress(bytes, size_t{16} << 20);
      break;
    case 1:
      PbtxtToProto(bytes, ProtoKind::kModule);
      break;
    case 2:
      ExtractLogBlocks(bytes);
      break;
    case 3: {
      // One name per line.
      std::vector<std::pair<std::string, uint64_t>> files;
      while (!bytes.empty()) {
        size_t end = bytes.find('\n');
        files.emplace_back(bytes.substr(0, end), files.size());
        bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
      }
      DumpFolder folder = GroupDumpFiles(files);
      ChooseDumpFile(folder, "m", "after_optimizations", nullptr);
      break;
    }
    default: {
      LoadOptions options;
      options.max_bytes = size_t{16} << 20;
      LoadContents(std::string(bytes), "input", options);
    }
  }
  return 0;
}
