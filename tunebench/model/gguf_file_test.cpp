#include "tunebench/model/gguf_file.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/base/random.h"
#include "tunebench/model/gguf_tokenizer.h"
#include "tunebench/model/test_folder.h"
#include "tunebench/model/test_gguf.h"

namespace tunebench::model {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;
using testing::gguf_start;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;

/// A file with one tensor "t" of one dimension.
std::string one_tensor(std::uint64_t size, std::uint32_t type, std::uint64_t offset,
                       std::size_t data_bytes) {
  Bytes file = gguf_start(1, 0);
  file.string("t").u32(1).u64(size).u32(type).u64(offset);
  std::string text = file.text();
  text.resize((text.size() + 31) / 32 * 32);
  return text + std::string(data_bytes, '\1');
}

class GgufFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] GgufFile open(const std::string& content) const {
    write_file_atomically(path(), content);
    return GgufFile(path());
  }
  /// What is said after the file's name.
  [[nodiscard]] std::string refusal(const std::string& content) const {
    const std::string message = message_of([&] { static_cast<void>(open(content)); });
    const std::string label = path().string() + ": ";
    EXPECT_THAT(message, StartsWith(label));
    return message.substr(std::min(label.size(), message.size()));
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "m.gguf"; }

 private:
  TemporaryFolder folder_;
};

TEST_F(GgufFileTest, ReadsMetadataOfEveryKind) {
  Bytes file = gguf_start(0, 7);
  file.string("i").u32(5).u32(0xfffffffe);
  file.string("f").u32(6).u32(0x3727c5ac);  // 1e-5
  file.string("b").u32(7).number(1, 1);
  file.string("s").u32(8).string("text");
  file.string("list").u32(9).u32(8).u64(2).string("a").string("");
  file.string("numbers").u32(9).u32(3).u64(2).number(0xffff, 2).number(7, 2);
  file.string("nested").u32(9).u32(9).u64(1).u32(4).u64(1).u32(5);
  const GgufFile gguf = open(file.text());
  EXPECT_EQ(gguf.integer("i"), -2);
  EXPECT_EQ(gguf.real("f"), 1e-5);
  EXPECT_EQ(gguf.boolean("b"), true);
  EXPECT_EQ(gguf.text("s"), "text");
  EXPECT_THAT(*gguf.texts("list"), ElementsAre("a", ""));
  EXPECT_THAT(*gguf.integers("numbers"), ElementsAre(-1, 7));
  EXPECT_TRUE(gguf.has("nested"));
  EXPECT_EQ(gguf.integer("absent"), std::nullopt);
  EXPECT_THAT(message_of([&] { static_cast<void>(gguf.integer("s")); }),
              HasSubstr("metadata 's' is not an integer"));
  EXPECT_THAT(message_of([&] { static_cast<void>(gguf.texts("numbers")); }),
              HasSubstr("metadata 'numbers' is not a list of texts"));
}

TEST_F(GgufFileTest, ReadsTensorsOfVersions2And3) {
  for (const char version : {'\2', '\3'}) {
    std::string content = one_tensor(8, 0, 0, 32);
    content[4] = version;
    const GgufFile file = open(content);
    ASSERT_NE(file.find_tensor("t"), nullptr);
    EXPECT_EQ(file.find_tensor("t")->bytes.size(), 32U);
    EXPECT_EQ(file.find_tensor("t")->bytes[0], std::byte{1});
    EXPECT_EQ(file.find_tensor("u"), nullptr);
  }
}

TEST_F(GgufFileTest, RefusesOtherFormats) {
  EXPECT_EQ(refusal(""), "is not a GGUF file: it does not start with GGUF");
  EXPECT_EQ(refusal("GGML0000"), "is not a GGUF file: it does not start with GGUF");
  EXPECT_THAT(refusal("GGUF"), HasSubstr("is cut off in the version"));
  EXPECT_EQ(refusal(gguf_start(0, 0, 1).text()), "is of GGUF version 1; 2 and 3 are read");
  EXPECT_EQ(refusal(gguf_start(0, 0, 0x03000000).text()),
            "is big-endian; only little-endian GGUF files are read");
}

TEST_F(GgufFileTest, RefusesCountsThatTheFileCannotHold) {
  const std::uint64_t huge = ~std::uint64_t{0};
  EXPECT_EQ(refusal(gguf_start(0, huge).text()),
            "the number of metadata entries counts 18446744073709551615, but only 0 bytes follow");
  EXPECT_THAT(refusal(gguf_start(huge, 0).text()), HasSubstr("the number of tensors counts"));
  EXPECT_THAT(refusal(gguf_start(0, 1).u64(huge).u64(0).text()),
              HasSubstr("is cut off in a metadata key"));
  EXPECT_THAT(refusal(gguf_start(0, 1).string("k").u32(8).u64(huge / 2).text()),
              HasSubstr("is cut off in metadata 'k'"));
  EXPECT_THAT(refusal(gguf_start(0, 1).string("k").u32(9).u32(10).u64(huge / 8).text()),
              HasSubstr("metadata 'k' counts 2305843009213693951"));
  EXPECT_THAT(refusal(gguf_start(0, 1).string("k").u32(9).u32(9).u64(huge / 12).text()),
              HasSubstr("metadata 'k' counts"));
}

TEST_F(GgufFileTest, RefusesMetadataThatMakesNoSense) {
  EXPECT_EQ(refusal(gguf_start(0, 1).string("k").u32(13).u64(0).text()),
            "metadata 'k' has the unknown type 13");
  EXPECT_EQ(
      refusal(
          gguf_start(0, 2).string("k").u32(0).number(1, 1).string("k").u32(0).number(1, 1).text()),
      "metadata 'k' stands there twice");
  Bytes deep = gguf_start(0, 1);
  deep.string("k").u32(9);
  for (int i = 0; i < 1000; ++i) {
    deep.u32(9).u64(1);
  }
  EXPECT_EQ(refusal(deep.text()), "metadata 'k' nests arrays deeper than 3");
  EXPECT_THAT(refusal(gguf_start(0, 1).string("general.alignment").u32(4).u32(24).text()),
              HasSubstr("'general.alignment' is 24, expected a power of two"));
  EXPECT_THAT(refusal(gguf_start(0, 1).string("general.alignment").u32(5).u32(0xffffffff).text()),
              HasSubstr("'general.alignment' is -1"));
  EXPECT_THAT(refusal(gguf_start(0, 1).string("general.alignment").u32(8).string("a").text()),
              HasSubstr("'general.alignment' is not an integer"));
}

TEST_F(GgufFileTest, RefusesTensorsThatDoNotFit) {
  EXPECT_EQ(refusal(one_tensor(16, 0, 0, 63)),
            "is cut off: tensor 't' needs 64 bytes from 0 on, the file has 63 data bytes; get the "
            "file again");
  EXPECT_THAT(refusal(one_tensor(16, 0, 64, 96)), HasSubstr("needs 64 bytes from 64 on"));
  EXPECT_THAT(refusal(one_tensor(16, 0, ~std::uint64_t{31}, 96)), HasSubstr("is cut off"));
  EXPECT_EQ(refusal(one_tensor(16, 0, 8, 96)), "tensor 't' starts at 8, not a multiple of 32");
  EXPECT_EQ(refusal(one_tensor(48, 2, 0, 96)), "tensor 't' has rows of 48, not whole blocks of 32");
  EXPECT_EQ(refusal(one_tensor(0, 0, 0, 96)), "tensor 't' has a dimension of 0");
  EXPECT_THAT(refusal(one_tensor(~std::uint64_t{0}, 0, 0, 96)), HasSubstr("has a dimension of"));
  EXPECT_EQ(refusal(one_tensor(256, 12, 0, 144)),
            "tensor 't' is Q4_K; read are F32, F16, BF16, Q8_0, Q4_0, Q4_1 and Q6_K");
  Bytes flat = gguf_start(1, 0);
  EXPECT_THAT(refusal(flat.string("t").u32(0).u32(0).u64(0).u64(0).text()),
              HasSubstr("tensor 't' has 0 dimensions"));
  Bytes cube = gguf_start(1, 0);
  cube.string("t").u32(4).u64(64).u64(64).u64(64).u64(64).u32(0).u64(0);
  EXPECT_THAT(refusal(cube.text() + std::string(64, '\0')),
              HasSubstr("tensor 't' of [64, 64, 64, 64] needs more than"));
  Bytes twice = gguf_start(2, 0);
  twice.string("t").u32(1).u64(1).u32(0).u64(0).string("t").u32(1).u64(1).u32(0).u64(0);
  EXPECT_EQ(refusal(twice.text() + std::string(64, '\0')), "tensor 't' stands there twice");
}

std::string golden() {
  return read_file(std::filesystem::path(TB_GOLDEN_FOLDER) / "gguf" / "tiny.gguf");
}

TEST_F(GgufFileTest, EveryCutOffFileIsRefused) {
  const std::string whole = golden();
  for (std::size_t length = 0; length < whole.size(); length += length < 100 ? 1 : 397) {
    EXPECT_THAT(refusal(whole.substr(0, length)), HasSubstr("")) << length;
  }
}

TEST_F(GgufFileTest, AChangedByteGivesAnErrorOrTensorsInsideTheFile) {
  const std::string whole = golden();
  constexpr std::uint64_t kHeaderBytes = 5700;
  int refused = 0;
  for (std::uint64_t round = 0; round < 400; ++round) {
    std::string content = whole;
    for (std::uint64_t change = 0; change < 2; ++change) {
      content[uniform_int(3, 2 * change, round, kHeaderBytes)] =
          static_cast<char>(uniform_int(3, 2 * change + 1, round, 256));
    }
    try {
      const GgufFile file = open(content);
      for (const GgufTensor& tensor : file.tensors()) {
        EXPECT_LE(tensor.bytes.size(), content.size());
      }
      static_cast<void>(import_tokenizer(file));
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::Corrupt || error.code() == ErrorCode::Unsupported)
          << error.message();
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace tunebench::model
