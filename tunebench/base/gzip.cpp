#include "tunebench/base/gzip.h"

#include <array>

#include <zlib.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench {
namespace {

/// 15 bits of window, and the header and checksum of gzip instead of zlib's own.
constexpr int kGzipWindow = 15 + 16;

z_stream stream_over(std::string_view input) {
  z_stream stream{};
  // zlib's interface takes a pointer to what it does not change.
  stream.next_in = const_cast<Bytef*>(  // NOLINT(cppcoreguidelines-pro-type-const-cast): as said
      reinterpret_cast<const Bytef*>(input.data()));  // NOLINT: bytes are bytes
  stream.avail_in = static_cast<uInt>(input.size());
  return stream;
}

/// Calls `step` until it is done; what came out.
template <typename Step>
std::string pump(z_stream& stream, int& result, Step step) {
  std::string output;
  std::array<char, 65536> buffer{};
  do {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());  // NOLINT: bytes are bytes
    stream.avail_out = static_cast<uInt>(buffer.size());
    result = step(&stream);
    output.append(buffer.data(), buffer.size() - stream.avail_out);
  } while (result == Z_OK && (stream.avail_out == 0 || stream.avail_in > 0));
  return output;
}

}  // namespace

void write_gzip(const std::filesystem::path& path, std::string_view text) {
  z_stream stream = stream_over(text);
  TB_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8,
                        Z_DEFAULT_STRATEGY) == Z_OK);
  int result = Z_OK;
  const std::string packed =
      pump(stream, result, [](z_stream* one) { return deflate(one, Z_FINISH); });
  deflateEnd(&stream);
  TB_CHECK(result == Z_STREAM_END);
  write_file_atomically(path, packed);
}

std::string read_gzip(const std::filesystem::path& path) {
  const std::string packed = read_file(path);
  z_stream stream = stream_over(packed);
  TB_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK);
  int result = Z_OK;
  std::string text = pump(stream, result, [](z_stream* one) { return inflate(one, Z_NO_FLUSH); });
  inflateEnd(&stream);
  if (result != Z_STREAM_END) {
    throw Error(ErrorCode::Corrupt, display_path(path) + " is not a whole gzip file");
  }
  return text;
}

std::string zlib_in_use() {
  return ::zlibVersion();
}

}  // namespace tunebench
