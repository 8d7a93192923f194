// Where do large scratch buffers come from? From anonymous mappings that ask for huge pages: a
// permutation touches many far-apart places at once, and with small pages each of them costs a page
// walk.

#include <sys/mman.h>

#include <cstdint>
#include <utility>

#include "fmt/format.h"
#include "hlokit/permute.h"

namespace hlokit {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

Result<HugeBuffer> HugeBuffer::Make(size_t bytes) {
  HugeBuffer buffer;
  buffer.size_ = bytes;
  if (bytes == 0) return buffer;
  const bool huge = bytes >= kHugePage / 2;
  const size_t unit = huge ? kHugePage : size_t{4096};
  if (bytes > SIZE_MAX / 4) {
    return MakeError(ExitCode::kIo, DiagId::kOutOfMemory,
                     fmt::format("no memory for {} bytes", bytes));
  }
  const size_t length = (bytes + unit - 1) / unit * unit;
  const size_t reserve = length + (huge ? kHugePage : 0);
  void* base = mmap(nullptr, reserve, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return MakeError(ExitCode::kIo, DiagId::kOutOfMemory,
                     fmt::format("no memory for {} bytes", bytes),
                     "close other programs, or lower the limit on memory that this shell sets");
  }
  uintptr_t address = reinterpret_cast<uintptr_t>(base);
  const uintptr_t aligned = (address + unit - 1) / unit * unit;
  if (aligned != address) munmap(base, aligned - address);
  const uintptr_t end = address + reserve;
  if (end != aligned + length)
    munmap(reinterpret_cast<void*>(aligned + length), end - aligned - length);
  buffer.data_ = reinterpret_cast<std::byte*>(aligned);
  buffer.mapped_ = length;
  if (huge) madvise(buffer.data_, length, MADV_HUGEPAGE);
  return buffer;
}

HugeBuffer& HugeBuffer::operator=(HugeBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

HugeBuffer::~HugeBuffer() {
  if (mapped_ != 0) munmap(data_, mapped_);
}

}  // namespace hlokit
