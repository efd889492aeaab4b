#include "tunebench/model/gguf_blocks.h"

#include <bit>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"

namespace tunebench::model {
namespace {

std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

TEST(GgufBlocksTest, DecodesEveryTypeAsTheGgufPackageDoes) {
  const auto path = std::filesystem::path(TB_GOLDEN_FOLDER) / "gguf" / "blocks.json";
  const Json golden = Json::parse(read_file(path), "blocks.json");
  ASSERT_EQ(golden.at("cases").as_array().size(), 7U);
  for (const Json& entry : golden.at("cases").as_array()) {
    const std::string& name = entry.at("type").as_string();
    const auto code = static_cast<std::uint32_t>(entry.at("code").as_int());
    const std::optional<GgufType> type = gguf_type_from_code(code);
    ASSERT_TRUE(type.has_value()) << name;
    EXPECT_EQ(gguf_type_name(code), name);
    const Json::Array& expected = entry.at("values").as_array();
    std::vector<float> values(expected.size());
    decode_gguf_blocks(*type, from_hex(entry.at("bytes").as_string()), values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), expected[i].as_int()) << name << " " << i;
    }
  }
}

TEST(GgufBlocksTest, NamesTypesThatItDoesNotRead) {
  EXPECT_FALSE(gguf_type_from_code(12).has_value());
  EXPECT_EQ(gguf_type_name(12), "Q4_K");
  EXPECT_EQ(gguf_type_name(99), "type 99");
}

TEST(GgufBlocksTest, RefusesBytesThatAreNotWholeBlocks) {
  const std::vector<std::byte> bytes(18);
  std::vector<float> values(31);
  EXPECT_THROW(decode_gguf_blocks(GgufType::Q4_0, bytes, values), Error);
}

}  // namespace
}  // namespace tunebench::model
