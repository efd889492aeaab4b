#include "tunebench/hub/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/hub/http.h"

namespace tunebench::hub {
namespace {

using testing::ElementsAre;

const std::string kGit(40, 'a');
const std::string kSha(64, 'b');

Listing listing_of(const std::vector<std::string>& names) {
  Json siblings = Json::array();
  for (const std::string& name : names) {
    siblings.push_back(Json::object({{"rfilename", name}, {"size", 7}, {"blobId", kGit}}));
  }
  return parse_listing(Json::object({{"sha", kGit}, {"siblings", siblings}}), {"org/name", "main"},
                       "hub");
}

std::vector<std::string> names_of(const std::vector<RemoteFile>& files) {
  std::vector<std::string> names;
  for (const RemoteFile& file : files) {
    names.push_back(file.name);
  }
  return names;
}

TEST(ListingTest, ReadsSizesAndHashes) {
  const Json large = Json::object({{"sha256", kSha}, {"size", 123}, {"pointerSize", 134}});
  const Json answer = Json::object(
      {{"sha", kGit},
       {"siblings",
        Json::array({Json::object({{"rfilename", "config.json"}, {"size", 7}, {"blobId", kGit}}),
                     Json::object({{"rfilename", "model.safetensors"},
                                   {"size", 123},
                                   {"blobId", kGit},
                                   {"lfs", large}})})}});
  const Listing listing = parse_listing(answer, {"org/name", "main"}, "hub");
  EXPECT_EQ(listing.commit, kGit);
  EXPECT_EQ(listing.find("config.json")->hash, kGit);
  EXPECT_FALSE(listing.find("config.json")->large());
  EXPECT_EQ(listing.find("model.safetensors")->hash, kSha);
  EXPECT_EQ(listing.find("model.safetensors")->bytes, 123);
  EXPECT_TRUE(listing.find("model.safetensors")->large());
  EXPECT_EQ(listing.find("other"), nullptr);
}

TEST(ListingTest, ChoosesWhatFineTuningNeeds) {
  const Listing listing = listing_of({".gitattributes",
                                      "README.md",
                                      "LICENSE",
                                      "config.json",
                                      "generation_config.json",
                                      "tokenizer.json",
                                      "tokenizer.model",
                                      "merges.txt",
                                      "chat_template.jinja",
                                      "model.safetensors",
                                      "pytorch_model.bin",
                                      "pytorch_model.bin.index.json",
                                      "consolidated.safetensors",
                                      "model.fp16.safetensors",
                                      "onnx/model.onnx",
                                      "onnx/config.json",
                                      "original/params.json",
                                      "tf_model.h5",
                                      "modeling_x.py",
                                      "image.png",
                                      "adapter_config.json"});
  EXPECT_THAT(
      names_of(chosen_files(listing)),
      ElementsAre("README.md", "LICENSE", "config.json", "generation_config.json", "tokenizer.json",
                  "tokenizer.model", "merges.txt", "chat_template.jinja", "model.safetensors"));
}

TEST(ListingTest, TheWholeFileGoesBeforeTheIndex) {
  const char* index = "model.safetensors.index.json";
  EXPECT_THAT(names_of(chosen_files(listing_of({"config.json", index, "model.safetensors"}))),
              ElementsAre("config.json", "model.safetensors"));
  EXPECT_THAT(names_of(chosen_files(listing_of({"config.json", index}))),
              ElementsAre("config.json", index));
}

TEST(ListingTest, EncodesAddresses) {
  EXPECT_EQ(percent_encoded("a b/\xC3\xBC?#%", true), "a%20b/%C3%BC%3F%23%25");
  EXPECT_EQ(percent_encoded("refs/pr/1", false), "refs%2Fpr%2F1");
}

}  // namespace
}  // namespace tunebench::hub
