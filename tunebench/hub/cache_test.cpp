#include "tunebench/hub/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"

namespace tunebench::hub {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kOne(40, '1');
const std::string kTwo(40, '2');

/// A cache as huggingface_hub leaves it.
class CacheTest : public ::testing::Test {
 protected:
  std::filesystem::path cache() const { return folder_.path(); }
  std::filesystem::path model() const { return cache() / "models--org--name"; }

  void add(const std::string& commit, const std::string& name, const std::string& content) const {
    const std::string hash = sha256_hex(content);
    write_file_atomically(model() / "blobs" / hash, content);
    std::filesystem::create_directories(model() / "snapshots" / commit);
    std::filesystem::create_symlink("../../blobs/" + hash, model() / "snapshots" / commit / name);
  }
  void refer(const std::string& ref, const std::string& commit) const {
    write_file_atomically(model() / "refs" / ref, commit);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(CacheTest, FindsASnapshotByRefAndByCommit) {
  add(kOne, "config.json", "{}");
  EXPECT_EQ(cached_snapshot(cache(), {"org/name", "main"}), std::nullopt);
  refer("main", kOne + "\n");
  refer("refs/pr/3", kOne);
  const std::filesystem::path folder = model() / "snapshots" / kOne;
  EXPECT_EQ(cached_snapshot(cache(), {"org/name", "main"}), folder);
  EXPECT_EQ(cached_snapshot(cache(), {"org/name", "refs/pr/3"}), folder);
  EXPECT_EQ(cached_snapshot(cache(), {"org/name", kOne}), folder);
  EXPECT_EQ(cached_snapshot(cache(), {"org/name", kTwo}), std::nullopt);
  EXPECT_EQ(cached_snapshot(cache(), {"org/other", "main"}), std::nullopt);
  refer("main", "../../../etc");
  EXPECT_EQ(cached_snapshot(cache(), {"org/name", "main"}), std::nullopt);
}

TEST_F(CacheTest, ListsModelsWithTheirNames) {
  EXPECT_THAT(cached_models(cache() / "none"), IsEmpty());
  add(kOne, "config.json", "{}");
  add(kTwo, "config.json", "{}");
  add(kTwo, "copy.json", "{}");
  refer("main", kTwo);
  std::filesystem::create_directories(cache() / "datasets--org--name/snapshots" / kOne);
  std::filesystem::create_directories(cache() / ".locks");
  const std::vector<CachedModel> models = cached_models(cache());
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].text(), "org/name@" + kOne);
  EXPECT_EQ(models[1].text(), "org/name");
  EXPECT_EQ(models[1].files.size(), 2U);
  EXPECT_EQ(models[1].bytes(), 2) << "one blob under two names";
}

TEST_F(CacheTest, TellsWhatIsWrong) {
  add(kOne, "model.safetensors.index.json",
      R"({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})");
  add(kOne, "one.safetensors", "weights");
  add(kOne, "gone.json", "x");
  std::filesystem::remove(model() / "blobs" / sha256_hex("x"));
  const CachedModel cached = cached_models(cache()).at(0);
  EXPECT_THAT(faults_of(cached, false),
              ElementsAre("config.json: is not there", "gone.json: its link leads nowhere",
                          "two.safetensors: named by model.safetensors.index.json, is not there"));
  write_file_atomically(model() / "blobs" / sha256_hex("weights"), "Weights");
  EXPECT_THAT(faults_of(cached, true),
              testing::Contains(HasSubstr("one.safetensors: its content")));
}

TEST_F(CacheTest, RemovesOnlyWhatIsItsOwn) {
  add(kOne, "config.json", "{}");
  add(kTwo, "config.json", "{}");
  const std::filesystem::path own = cache() / "weights-of-mine";
  write_file_atomically(own, "mine");
  std::filesystem::create_symlink(own, model() / "snapshots" / kOne / "model.safetensors");
  EXPECT_EQ(remove_cached(cache(), cached_models(cache()).at(0)), 0);
  EXPECT_TRUE(std::filesystem::exists(own));
  EXPECT_TRUE(std::filesystem::exists(model() / "snapshots" / kTwo / "config.json"));
  EXPECT_EQ(remove_cached(cache(), cached_models(cache()).at(0)), 2);
  EXPECT_FALSE(std::filesystem::exists(model()));
  EXPECT_TRUE(std::filesystem::exists(own));
}

}  // namespace
}  // namespace tunebench::hub
