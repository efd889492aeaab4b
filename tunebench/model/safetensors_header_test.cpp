#include "tunebench/model/safetensors_header.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/random.h"
#include "tunebench/model/test_folder.h"

namespace tunebench::model {
namespace {

using testing::code_of;
using ::testing::HasSubstr;
using testing::message_of;
using testing::raw_safetensors;
using ::testing::StartsWith;

std::string one_tensor(const std::string& dtype, const std::string& shape,
                       const std::string& offsets) {
  return R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

std::string refusal(const std::string& file) {
  return message_of([&] { read_safetensors_header(file, "m.safetensors"); });
}

std::string header_refusal(const std::string& header, std::size_t data_bytes = 64) {
  return refusal(raw_safetensors(header, std::string(data_bytes, '\0')));
}

std::string good_file() {
  return raw_safetensors(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[16,28]},)"
      R"("a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
      R"("e":{"dtype":"F32","shape":[0,7],"data_offsets":[28,28]}})",
      std::string(28, '\0'));
}

TEST(SafetensorsHeaderTest, ReadsTensorsInFileOrder) {
  const std::string file = good_file();
  const SafetensorsHeader header = read_safetensors_header(file, "m.safetensors");
  ASSERT_EQ(header.entries.size(), 3U);
  EXPECT_EQ(header.entries[0].name, "a");
  EXPECT_EQ(header.entries[1].name, "b");
  EXPECT_EQ(header.entries[1].type, StoredType::BF16);
  EXPECT_THAT(header.entries[1].shape, ::testing::ElementsAre(2, 3));
  EXPECT_EQ(header.entries[1].begin, header.bytes + 16);
  EXPECT_EQ(header.entries[2].end, file.size());
}

// WGT-05
TEST(SafetensorsHeaderTest, RefusesOffsetsThatLie) {
  EXPECT_EQ(header_refusal(one_tensor("F32", "[1000,1000]", "[0,4]")),
            "m.safetensors: tensor 't': data_offsets [0, 4] hold 4 bytes, F32 [1000, 1000] needs "
            "4000000");
  EXPECT_EQ(header_refusal(one_tensor("F32", "[4]", "[16,0]")),
            "m.safetensors: tensor 't': data_offsets [16, 0] run backwards");
  EXPECT_THAT(header_refusal(one_tensor("F32", "[16]", "[0,65]")),
              HasSubstr("tensor 't': data_offsets [0, 65] hold 65 bytes"));
  EXPECT_THAT(header_refusal(one_tensor("F32", "[4294967296,4294967296]", "[0,0]")),
              HasSubstr("tensor 't': shape [4294967296, 4294967296] has more elements"));
  EXPECT_THAT(header_refusal(one_tensor("F32", "[0,4294967296,4294967296]", "[0,0]"), 0),
              HasSubstr("has more elements"));
  EXPECT_EQ(header_refusal(one_tensor("F32", "[16]", "[-8,56]")),
            "m.safetensors: tensor 't': data_offsets holds a negative number");
  EXPECT_EQ(header_refusal(one_tensor("F32", "[16]", "[0.5,56]")),
            "m.safetensors: tensor 't': data_offsets holds the number 0.5");
  EXPECT_THAT(header_refusal(one_tensor("F32", "[16]", "[0,1e30]")), HasSubstr("tensor 't'"));
  EXPECT_THAT(header_refusal(one_tensor("F32", "[16]", "[0,99999999999999999999999]")),
              HasSubstr("tensor 't'"));
}

// WGT-05
TEST(SafetensorsHeaderTest, RefusesAnUnknownType) {
  EXPECT_EQ(header_refusal(one_tensor("F9_X", "[64]", "[0,64]")),
            "m.safetensors: tensor 't': unknown dtype F9_X");
  EXPECT_THAT(header_refusal(one_tensor("F8_E4M3", "[64]", "[0,64]")), HasSubstr("F8_E4M3"));
}

TEST(SafetensorsHeaderTest, RefusesHolesOverlapsAndRests) {
  const auto two = [](const std::string& second) {
    return R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
           R"("b":{"dtype":"F32","shape":[4],"data_offsets":)" +
           second + "}}";
  };
  EXPECT_EQ(header_refusal(two("[20,36]"), 36),
            "m.safetensors: tensor 'b': starts at 20, a hole after 16");
  EXPECT_THAT(header_refusal(two("[12,28]"), 28),
              HasSubstr("tensor 'b': starts at 12, inside the tensor before it"));
  EXPECT_EQ(header_refusal(two("[16,32]"), 40), "m.safetensors: 8 bytes follow the last tensor");
  EXPECT_THAT(header_refusal(two("[16,32]"), 31), HasSubstr("tensor 'b' is not whole"));
}

// WGT-07
TEST(SafetensorsHeaderTest, RefusesANameTwice) {
  EXPECT_EQ(header_refusal(R"({"k":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
                           R"("k":{"dtype":"F32","shape":[4],"data_offsets":[16,32]}})",
                           32),
            "m.safetensors: duplicate tensor name 'k'");
}

TEST(SafetensorsHeaderTest, RefusesHeadersOfAnotherShape) {
  EXPECT_EQ(header_refusal("[]"),
            "m.safetensors: is not a safetensors file: its header does not start with {");
  EXPECT_THAT(header_refusal("{bad json"), HasSubstr("header is not JSON from byte"));
  EXPECT_THAT(header_refusal(R"({"t":5})"), HasSubstr("header holds a number"));
  EXPECT_THAT(header_refusal(R"({"t":{"dtype":5}})"),
              HasSubstr("tensor 't': dtype holds a number"));
  EXPECT_THAT(header_refusal(R"({"t":{"dtype":{}}})"), HasSubstr("dtype holds an object"));
  EXPECT_THAT(header_refusal(R"({"t":{"shape":[[1]]}})"), HasSubstr("shape holds a list"));
  EXPECT_THAT(header_refusal(R"({"t":{"shape":"x"}})"), HasSubstr("shape holds text"));
  EXPECT_THAT(header_refusal(R"({"t":{"colour":"x"}})"), HasSubstr("unknown field 'colour'"));
  EXPECT_THAT(header_refusal(R"({"t":{"shape":[1],"shape":[2]}})"),
              HasSubstr("shape stands there twice"));
  EXPECT_THAT(header_refusal(R"({"t":{"dtype":"F32","shape":[1]}})"),
              HasSubstr("dtype, shape and two data_offsets are due"));
  EXPECT_THAT(header_refusal(R"({"__metadata__":{"a":1}})"), HasSubstr("__metadata__ holds"));
  EXPECT_THAT(header_refusal("{\"t\xff\":{}}"), HasSubstr("header is not JSON"));
  EXPECT_THAT(header_refusal("{" + std::string(500000, '[')), HasSubstr("header is not JSON"));
  EXPECT_THAT(header_refusal(R"({"t":)" + std::string(500000, '[')), HasSubstr("a list"));
}

// WGT-03
TEST(SafetensorsHeaderTest, NamesWhatStandsInPlaceOfWeights) {
  EXPECT_EQ(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4976698672\n"),
            "m.safetensors: is a Git LFS pointer (stated size 4976698672 bytes); the weights were "
            "not downloaded");
  EXPECT_EQ(refusal("\n<!DOCTYPE html><html><body>Sign in</body></html>"),
            "m.safetensors: is a web page; the weights were not downloaded");
}

// WGT-04
TEST(SafetensorsHeaderTest, SaysHowMuchOfACutOffFileIsThere) {
  EXPECT_EQ(refusal(""),
            "m.safetensors: is cut off: 0 bytes, a header length alone takes 8; get the file "
            "again");
  EXPECT_THAT(refusal("12345"), HasSubstr("is cut off: 5 bytes"));
  const std::string file = good_file();
  EXPECT_EQ(refusal(file.substr(0, file.size() - 10)),
            "m.safetensors: is cut off: " + std::to_string(file.size()) + " bytes expected, " +
                std::to_string(file.size() - 10) +
                " found; tensor 'b' is not whole; get the file again");
  EXPECT_THAT(refusal(file.substr(0, 60)), HasSubstr("is cut off inside the header"));
  EXPECT_THAT(refusal("PK\x03\x04 and so on and on"), HasSubstr("is not a safetensors file"));
}

TEST(SafetensorsHeaderTest, EveryCutOffFileIsRefused) {
  const std::string file = good_file();
  for (std::size_t length = 0; length < file.size(); ++length) {
    EXPECT_THAT(refusal(file.substr(0, length)), StartsWith("m.safetensors: ")) << length;
  }
  EXPECT_EQ(refusal(file), "no error");
}

TEST(SafetensorsHeaderTest, AChangedByteGivesAnErrorOrTensorsInsideTheFile) {
  const std::string good = good_file();
  const std::size_t header_bytes = good.size() - 28;
  int refused = 0;
  for (std::size_t place = 0; place < header_bytes; ++place) {
    for (std::uint64_t variant = 0; variant < 24; ++variant) {
      std::string file = good;
      file[place] = static_cast<char>(uniform_int(7, place, variant, 256));
      try {
        for (const HeaderEntry& entry : read_safetensors_header(file, "m").entries) {
          EXPECT_LE(entry.begin, entry.end);
          EXPECT_LE(entry.end, file.size());
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::Corrupt) << error.message();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tunebench::model
