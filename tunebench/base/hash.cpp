#include "tunebench/base/hash.h"

#include <array>
#include <memory>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    TB_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void add(std::string_view bytes) {
    TB_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  std::string hex() {
    std::array<unsigned char, 32> digest{};
    TB_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) == 1);
    return fmt::format("{:02x}", fmt::join(digest, ""));
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

std::string sha256_file_hex(const std::filesystem::path& path) {
  const MappedFile file(path);
  constexpr std::size_t kPiece = std::size_t{16} << 20U;
  Sha256 hash;
  for (std::size_t at = 0; at < file.bytes().size(); at += kPiece) {
    hash.add(file.text().substr(at, kPiece));
    file.release_pages(at, kPiece);
  }
  return hash.hex();
}

}  // namespace tunebench
