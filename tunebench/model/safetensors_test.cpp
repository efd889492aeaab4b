#include "tunebench/model/safetensors.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/model/test_folder.h"

namespace tunebench::model {
namespace {

using testing::code_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::tensor_of;
using testing::TensorData;
using testing::WarningCatcher;
using testing::write_shards;
using testing::write_tensors;

std::vector<TensorData> three_tensors() {
  return {tensor_of("a", {2, 2}), tensor_of("b", {3}, StoredType::BF16, 1.0F),
          tensor_of("c", {5}, StoredType::F16, -2.0F)};
}

std::vector<float> values(const SafetensorsSet& set, std::string_view name) {
  const StoredTensor* tensor = set.find(name);
  std::vector<float> out(static_cast<std::size_t>(tensor->elements()));
  set.read_float32(*tensor, out);
  return out;
}

TEST(SafetensorsSetTest, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  write_tensors(folder.path() / "model.safetensors", three_tensors());
  const SafetensorsSet set = SafetensorsSet::open_folder(folder.path());
  ASSERT_EQ(set.tensors().size(), 3U);
  EXPECT_THAT(values(set, "a"), ElementsAre(0.0F, 1 / 64.0F, 2 / 64.0F, 3 / 64.0F));
  EXPECT_THAT(values(set, "b"), ElementsAre(1.0F, 1 + 1 / 64.0F, 1 + 2 / 64.0F));
  EXPECT_THAT(values(set, "c"),
              ElementsAre(-2.0F, -2 + 1 / 64.0F, -2 + 2 / 64.0F, -2 + 3 / 64.0F, -2 + 4 / 64.0F));
  EXPECT_EQ(set.find("d"), nullptr);
}

TEST(SafetensorsSetTest, WritesTheMetadataThatTransformersAsksFor) {
  const TemporaryFolder folder;
  write_tensors(folder.path() / "m.safetensors", {tensor_of("a", {1})});
  const std::string file = read_file(folder.path() / "m.safetensors");
  EXPECT_THAT(file, HasSubstr(R"("__metadata__":{"format":"pt"})"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(SafetensorsSetTest, SaysWhyAFileCannotBeWritten) {
  EXPECT_THAT(message_of([] { write_safetensors("/nowhere/m.safetensors", {}); }),
              HasSubstr("/nowhere/m.safetensors: cannot be created: No such file"));
  EXPECT_EQ(code_of([] { write_safetensors("/nowhere/m.safetensors", {}); }), ErrorCode::Io);
}

TEST(SafetensorsSetTest, ReadsLargeTensorsInPieces) {
  const TemporaryFolder folder;
  write_tensors(folder.path() / "model.safetensors",
                {tensor_of("pad", {3}), tensor_of("big", {1500, 1000}, StoredType::BF16)});
  const std::vector<float> big = values(SafetensorsSet::open_folder(folder.path()), "big");
  for (std::size_t i = 0; i < big.size(); ++i) {
    ASSERT_EQ(big[i], static_cast<float>(i % 16) / 64.0F) << i;
  }
}

TEST(SafetensorsSetTest, RefusesToReadIntegersAsWeights) {
  const TemporaryFolder folder;
  write_tensors(folder.path() / "model.safetensors", {tensor_of("ids", {2}, StoredType::I64)});
  const SafetensorsSet set = SafetensorsSet::open_folder(folder.path());
  EXPECT_THAT(message_of([&] { values(set, "ids"); }),
              HasSubstr("tensor 'ids' is I64; weights are read from F32, F16 and BF16"));
}

TEST(SafetensorsSetTest, ReadsShards) {
  const TemporaryFolder folder;
  write_shards(folder.path(), three_tensors(), 3);
  const SafetensorsSet set = SafetensorsSet::open_folder(folder.path());
  EXPECT_EQ(set.tensors().size(), 3U);
  EXPECT_EQ(set.paths().size(), 3U);
  EXPECT_THAT(values(set, "b"), ElementsAre(1.0F, 1 + 1 / 64.0F, 1 + 2 / 64.0F));
}

// WGT-08
TEST(SafetensorsSetTest, ListsAbsentShards) {
  const TemporaryFolder folder;
  write_shards(folder.path(), three_tensors(), 3);
  std::filesystem::remove(folder.path() / "model-00003-of-00003.safetensors");
  std::filesystem::remove(folder.path() / "model-00001-of-00003.safetensors");
  EXPECT_EQ(message_of([&] { SafetensorsSet::open_folder(folder.path()); }),
            (folder.path() / "model.safetensors.index.json").string() +
                ": names 2 absent of 3 shards: model-00001-of-00003.safetensors, "
                "model-00003-of-00003.safetensors");
}

// WGT-04
TEST(SafetensorsSetTest, NamesTheShardThatIsShort) {
  const TemporaryFolder folder;
  write_shards(folder.path(), three_tensors(), 3);
  const auto shard = folder.path() / "model-00002-of-00003.safetensors";
  std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 1);
  EXPECT_THAT(message_of([&] { SafetensorsSet::open_folder(folder.path()); }),
              HasSubstr(shard.string() + ": is cut off"));
}

// WGT-08
TEST(SafetensorsSetTest, RefusesAnIndexThatDoesNotAgreeWithTheShards) {
  const TemporaryFolder folder;
  const Json index = write_shards(folder.path(), three_tensors(), 2);
  const auto refusal = [&](const std::string& tensor, const std::string& file) {
    Json map = index.at("weight_map");
    map.set(tensor, file);
    testing::write_json(folder.path() / "model.safetensors.index.json",
                        Json::object({{"weight_map", map}}));
    return message_of([&] { SafetensorsSet::open_folder(folder.path()); });
  };
  EXPECT_THAT(refusal("b", "model-00002-of-00002.safetensors"),
              HasSubstr("promises tensor 'b' in model-00002-of-00002.safetensors, it is in "
                        "model-00001-of-00002.safetensors"));
  EXPECT_THAT(refusal("extra", "model-00002-of-00002.safetensors"),
              HasSubstr("promises tensor 'extra' in model-00002-of-00002.safetensors, which does "
                        "not hold it"));
  EXPECT_THAT(refusal("c", "../model.safetensors"), HasSubstr("expected the name of a file"));
}

TEST(SafetensorsSetTest, WarnsOfATensorThatTheIndexForgot) {
  const TemporaryFolder folder;
  Json index = write_shards(folder.path(), three_tensors(), 2);
  Json map = Json::object();
  for (const auto& [tensor, file] : index.at("weight_map").as_object()) {
    if (tensor != "b") {
      map.set(tensor, file);
    }
  }
  testing::write_json(folder.path() / "model.safetensors.index.json",
                      Json::object({{"weight_map", map}}));
  const WarningCatcher warnings;
  EXPECT_NE(SafetensorsSet::open_folder(folder.path()).find("b"), nullptr);
  EXPECT_THAT(warnings.text(), HasSubstr("does not list 1 of the tensors found: b"));
}

TEST(SafetensorsSetTest, RefusesATensorInTwoShards) {
  const TemporaryFolder folder;
  write_tensors(folder.path() / "one.safetensors", {tensor_of("a", {1})});
  write_tensors(folder.path() / "two.safetensors", {tensor_of("a", {1}), tensor_of("b", {1})});
  testing::write_json(
      folder.path() / "model.safetensors.index.json",
      Json::object(
          {{"weight_map", Json::object({{"a", "one.safetensors"}, {"b", "two.safetensors"}})}}));
  EXPECT_THAT(message_of([&] { SafetensorsSet::open_folder(folder.path()); }),
              HasSubstr("duplicate tensor name 'a', also in"));
}

TEST(SafetensorsSetTest, SaysHowToConvertPickledWeights) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of([&] { SafetensorsSet::open_folder(folder.path()); }),
              HasSubstr("has neither model.safetensors nor model.safetensors.index.json"));
  write_file_atomically(folder.path() / "pytorch_model.bin", "x");
  EXPECT_THAT(message_of([&] { SafetensorsSet::open_folder(folder.path()); }),
              HasSubstr("holds pytorch_model.bin only, which is not read; convert it"));
  EXPECT_EQ(code_of([&] { SafetensorsSet::open_folder(folder.path()); }), ErrorCode::Unsupported);
}

TEST(SafetensorsSetTest, FingerprintFollowsTheHeader) {
  const TemporaryFolder folder;
  const auto fingerprint = [&](const std::vector<TensorData>& tensors) {
    write_tensors(folder.path() / "model.safetensors", tensors);
    return SafetensorsSet::open_folder(folder.path()).fingerprint();
  };
  const std::string first = fingerprint({tensor_of("a", {2})});
  EXPECT_EQ(fingerprint({tensor_of("a", {2})}), first);
  EXPECT_NE(fingerprint({tensor_of("a", {3})}), first);
  EXPECT_NE(fingerprint({tensor_of("b", {2})}), first);
}

}  // namespace
}  // namespace tunebench::model
