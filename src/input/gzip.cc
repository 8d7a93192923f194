// How are gzip files read and written?
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "hlokit/input.h"

namespace hlokit {
namespace {

constexpr int kGzipWindow = 15 + 16;  // largest window, gzip header
constexpr size_t kAlwaysAllowed = size_t{256} << 20;
constexpr size_t kLargestRatio = 300;

std::unexpected<Error> Damaged(std::string_view what) {
  return MakeError(ExitCode::kCannotParse, DiagId::kGzipBroken,
                   fmt::format("the compressed data is damaged: {}", what),
                   "check that the file was copied completely");
}

/// One stream, whatever way the function is left.
struct Inflater {
  z_stream stream{};
  bool ok = inflateInit2(&stream, kGzipWindow) == Z_OK;
  ~Inflater() {
    if (ok) inflateEnd(&stream);
  }
};

}  // namespace

bool IsGzip(std::string_view bytes) {
  return bytes.size() >= 3 && bytes.starts_with("\x1f\x8b\x08");
}

Result<std::string> Decompress(std::string_view bytes, size_t max_bytes) {
  // A few bytes can claim to be gigabytes; real dumps shrink by a factor of 10 to 50.
  size_t limit = std::min(max_bytes, std::max(kAlwaysAllowed, bytes.size() * kLargestRatio));
  std::string out;
  while (!bytes.empty()) {
    Inflater inflater;
    if (!inflater.ok) return Damaged("no memory");
    z_stream& stream = inflater.stream;
    int status = Z_OK;
    size_t used = 0;
    while (status != Z_STREAM_END) {
      if (stream.avail_in == 0 && used < bytes.size()) {
        size_t chunk = std::min<size_t>(bytes.size() - used, size_t{1} << 30);
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + used));
        stream.avail_in = static_cast<uInt>(chunk);
        used += chunk;
      }
      size_t before = out.size();
      if (before > limit) {
        return MakeError(
            ExitCode::kCannotParse, DiagId::kInputTooLarge,
            fmt::format("{} compressed bytes become more than {} bytes", bytes.size(), limit),
            "decompress the file first if it is really that large");
      }
      size_t room = std::clamp<size_t>(before, 16 * 1024, size_t{64} << 20);
      out.resize(before + room);
      stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream.avail_out = static_cast<uInt>(room);
      status = inflate(&stream, Z_NO_FLUSH);
      out.resize(before + room - stream.avail_out);
      if (status == Z_STREAM_END) break;
      if (status != Z_OK && status != Z_BUF_ERROR)
        return Damaged(stream.msg != nullptr ? stream.msg : "unknown error");
      bool stuck = stream.avail_in == 0 && used == bytes.size() && stream.avail_out != 0;
      if (stuck) return Damaged("it ends too early");
    }
    bytes.remove_prefix(used - stream.avail_in);
    // Padding behind the last member is allowed; more members follow directly.
    if (!IsGzip(bytes)) {
      if (bytes.find_first_not_of('\0') != std::string_view::npos)
        return Damaged("something else follows");
      break;
    }
  }
  if (out.size() > limit) {
    return MakeError(ExitCode::kCannotParse, DiagId::kInputTooLarge,
                     fmt::format("the file becomes more than {} bytes", limit));
  }
  return out;
}

Result<std::string> Compress(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return MakeError(ExitCode::kInternal, DiagId::kInternalError, "the compressor does not start");
  }
  std::string out;
  int status = Z_OK;
  size_t used = 0;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0 && used < bytes.size()) {
      size_t chunk = std::min<size_t>(bytes.size() - used, size_t{1} << 30);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + used));
      stream.avail_in = static_cast<uInt>(chunk);
      used += chunk;
    }
    size_t before = out.size();
    out.resize(before + (size_t{1} << 18));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = 1u << 18;
    status = deflate(&stream, used == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (status == Z_STREAM_ERROR) break;
  }
  deflateEnd(&stream);
  if (status != Z_STREAM_END)
    return MakeError(ExitCode::kInternal, DiagId::kInternalError, "compressing failed");
  return out;
}

}  // namespace hlokit
