#include "tunebench/base/hash.h"

#include <array>
#include <memory>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench {
namespace {

class Digest {
 public:
  explicit Digest(const EVP_MD* kind) : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    TB_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_.get(), kind, nullptr) == 1);
  }
  void add(std::string_view bytes) {
    TB_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  void add(const MappedFile& file) {
    constexpr std::size_t kPiece = std::size_t{16} << 20U;
    for (std::size_t at = 0; at < file.bytes().size(); at += kPiece) {
      add(file.text().substr(at, kPiece));
      file.release_pages(at, kPiece);
    }
  }
  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    TB_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
    return fmt::format("{:02x}", fmt::join(digest.begin(), digest.begin() + size, ""));
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Digest hash(EVP_sha256());
  hash.add(bytes);
  return hash.hex();
}

std::string sha256_file_hex(const std::filesystem::path& path) {
  Digest hash(EVP_sha256());
  hash.add(MappedFile(path));
  return hash.hex();
}

std::string git_blob_file_hex(const std::filesystem::path& path) {
  const MappedFile file(path);
  Digest hash(EVP_sha1());
  hash.add(fmt::format("blob {}", file.bytes().size()));
  hash.add(std::string_view("\0", 1));
  hash.add(file);
  return hash.hex();
}

}  // namespace tunebench
