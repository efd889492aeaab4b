#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/data/tokenizer.h"
#include "tunebench/data/unicode.h"

namespace tunebench::data {
namespace {

constexpr std::int32_t kFirstByte = 3;  // after pad, bos and eos

class ByteTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text, bool /*add_special*/,
                                                 std::int64_t limit) const override {
    if (!is_ascii(text) && !is_valid_utf8(text)) {
      throw Error(ErrorCode::InvalidInput, "text is not UTF-8");
    }
    if (limit >= 0 && static_cast<std::uint64_t>(limit) < text.size()) {
      text = text.substr(0, static_cast<std::size_t>(limit));
    }
    std::vector<std::int32_t> ids;
    ids.reserve(text.size());
    for (const char byte : text) {
      ids.push_back(kFirstByte + static_cast<unsigned char>(byte));
    }
    return ids;
  }

  [[nodiscard]] std::int64_t vocabulary() const override { return kFirstByte + 256; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string name_ = "byte";
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
  return std::make_unique<ByteTokenizer>();
}

}  // namespace tunebench::data
