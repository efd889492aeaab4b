// What is fetched, resumed, waited for, verified, removed.
#include <algorithm>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "fetch_fixture.h"
#include "tunebench/hub/cache.h"

namespace tunebench::hub_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(FetchTest, MakesTheLayoutThatOtherProgramsRead) {
  server.put_model(kFetched);
  const hub::FetchResult result = fetch();
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(result.folder)) {
    names.push_back(entry.path().filename().string());
    EXPECT_TRUE(entry.is_symlink());
  }
  std::ranges::sort(names);
  EXPECT_THAT(names,
              ElementsAre("README.md", "config.json", "model.safetensors", "tokenizer.json"));
  EXPECT_EQ(std::filesystem::read_symlink(result.folder / "model.safetensors"),
            "../../blobs/" + hash_of("model.safetensors"));
  EXPECT_EQ(std::filesystem::read_symlink(result.folder / "README.md"),
            "../../blobs/" + git_blob_file_hex(server.model_folder(kFetched) / "README.md"));
  EXPECT_EQ(read_file(options.cache / "models--org--small/refs/main"), result.commit);
  EXPECT_EQ(read_file(result.folder / "model.safetensors"), weights());
  EXPECT_EQ(hub::cached_snapshot(options.cache, {"org/small", "main"}), result.folder);
  EXPECT_EQ(hub::cached_snapshot(options.cache, {"org/small", result.commit}), result.folder);
  EXPECT_EQ(result.files, 4);
  EXPECT_EQ(result.fetched_bytes, result.bytes);
}

TEST_F(FetchTest, FetchesNothingTwice) {
  server.put_model(kFetched);
  fetch();
  const std::size_t before = server.requests().size();
  EXPECT_EQ(fetch().fetched_bytes, 0);
  EXPECT_EQ(server.requests().size(), before + 1) << "the list alone";
}

TEST_F(FetchTest, FetchesTheShardsThatTheIndexNames) {
  server.put_sharded_model(kFetched);
  server.put(kFetched, "model-00009-of-00009.safetensors", "left over from another time");
  EXPECT_EQ(fetch().files, 6);
  EXPECT_THAT(server.requests("00009"), IsEmpty());
  EXPECT_THAT(hub::faults_of(hub::cached_models(options.cache).at(0), true), IsEmpty());
}

TEST_F(FetchTest, TakesARevision) {
  server.put_model(kFetched);
  const hub::FetchResult main = fetch();
  EXPECT_EQ(fetch("org/small@refs/pr/1").folder, main.folder);
  EXPECT_EQ(read_file(options.cache / "models--org--small/refs/refs/pr/1"), main.commit);
  EXPECT_EQ(fetch("org/small@" + main.commit).folder, main.folder);
  EXPECT_EQ(failure("org/small@v9"),
            fmt::format("org/small has no revision 'v9' at {}", server.url()));
}

TEST_F(FetchTest, GoesOnWhereACutConnectionEnded) {
  server.put_model(kFetched);
  server.play(fault({{"cut", 5000}}));
  fetch();
  const std::vector<Json> requests = server.requests("/cdn/");
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[1].at("range").as_string(), "bytes=5000-");
  EXPECT_THAT(notes, testing::Contains(HasSubstr("model.safetensors: ")));
}

TEST_F(FetchTest, GoesOnWithoutALength) {
  server.put_model(kFetched);
  server.play(fault({{"cut", 5000}, {"no_length", true}}));
  fetch();
  EXPECT_EQ(server.requests("/cdn/").at(1).at("range").as_string(), "bytes=5000-");
}

TEST_F(FetchTest, GoesOnWhereAKilledProcessEnded) {
  server.put_model(kFetched);
  write_file_atomically(blobs() / (hash_of("model.safetensors") + ".incomplete"),
                        weights().substr(0, 777));
  const hub::FetchResult result = fetch();
  EXPECT_EQ(server.requests("/cdn/").at(0).at("range").as_string(), "bytes=777-");
  EXPECT_EQ(result.fetched_bytes, result.bytes - 777);
}

TEST_F(FetchTest, BeginsAnewWhenTheServerKnowsNoRanges) {
  server.put_model(kFetched);
  server.play(fault({{"no_range", true}, {"times", 9}}));
  write_file_atomically(blobs() / (hash_of("model.safetensors") + ".incomplete"), "garbage");
  const hub::FetchResult result = fetch();
  EXPECT_EQ(read_file(result.folder / "model.safetensors"), weights());
}

TEST_F(FetchTest, BeginsAnewWhenAnotherRangeComes) {
  server.put_model(kFetched);
  server.play(fault({{"shift", 5}}));
  write_file_atomically(blobs() / (hash_of("model.safetensors") + ".incomplete"),
                        weights().substr(0, 777));
  EXPECT_EQ(read_file(fetch().folder / "model.safetensors"), weights());
}

TEST_F(FetchTest, BeginsAnewWhenWhatWasThereIsDamaged) {
  server.put_model(kFetched);
  const std::filesystem::path incomplete = blobs() / (hash_of("model.safetensors") + ".incomplete");
  for (const std::string& left : {std::string(777, 'x'), std::string(weights().size(), 'x'),
                                  std::string(weights().size() + 5, 'x')}) {
    std::filesystem::remove_all(options.cache);
    write_file_atomically(incomplete, left);
    EXPECT_EQ(read_file(fetch().folder / "model.safetensors"), weights());
    EXPECT_FALSE(std::filesystem::exists(incomplete));
  }
}

TEST_F(FetchTest, WaitsAsLongAsTheServerAsks) {
  server.put_model(kFetched);
  server.play(fault({{"status", 429}, {"headers", Json::object({{"Retry-After", "1"}})}}));
  const auto begun = std::chrono::steady_clock::now();
  fetch();
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
  EXPECT_THAT(notes, testing::Contains("model.safetensors: status 429; again in 1.0 s"));
}

TEST_F(FetchTest, DoesNotWaitForEver) {
  server.put_model(kFetched);
  server.play(
      fault({{"status", 429}, {"headers", Json::object({{"Retry-After", "7200"}})}}, "/api/"));
  EXPECT_EQ(failure(), fmt::format("org/small: {} has answered too many requests (status 429); it "
                                   "asks to come again in 2 h 0 min",
                                   server.url()));
}

TEST_F(FetchTest, TriesAgainWhenTheServerIsIll) {
  server.put_model(kFetched);
  server.play(Json::array({Json::object({{"path", "/api/"}, {"status", 503}, {"times", 2}}),
                           Json::object({{"path", "/cdn/"}, {"status", 500}, {"times", 3}})}));
  fetch();
  EXPECT_EQ(server.requests("/api/models").size(), 3U);
  EXPECT_EQ(server.requests("/cdn/").size(), 4U);
}

TEST_F(FetchTest, GivesUpAfterSomeTries) {
  server.put_model(kFetched);
  server.play(fault({{"status", 502}, {"times", 99}}));
  EXPECT_EQ(failure(),
            fmt::format("org/small: model.safetensors: {} answers with status 502", server.url()));
  EXPECT_EQ(server.requests("/cdn/").size(), 5U);
}

TEST_F(FetchTest, CutsAConnectionThatBringsNothing) {
  server.put_model(kFetched);
  options.stall_s = 1;
  server.play(fault({{"cut", 3000}, {"stall_s", 30}}));
  const auto begun = std::chrono::steady_clock::now();
  fetch();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
  EXPECT_EQ(server.requests("/cdn/").at(1).at("range").as_string(), "bytes=3000-");
}

TEST_F(FetchTest, TakesSlowBytes) {
  server.put_model(kFetched);
  server.play(fault({{"slow_s", 0.002}}));
  fetch();
  EXPECT_EQ(server.requests("/cdn/").size(), 1U);
}

TEST_F(FetchTest, StopsWhenTold) {
  server.put_model(kFetched);
  server.play(fault({{"slow_s", 1.0}}));
  hub::FetchProgress progress;
  std::jthread stopper([&] {
    while (progress.bytes_done == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    progress.stop = true;
  });
  EXPECT_THROW(hub::fetch_model({"org/small", "main"}, options, progress), Error);
}

TEST_F(FetchTest, VerifiesWhatIsThere) {
  server.put_model(kFetched);
  const hub::FetchResult result = fetch();
  const std::filesystem::path blob = blobs() / hash_of("model.safetensors");
  std::string damaged = weights();
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  write_file_atomically(blob, damaged);
  EXPECT_THAT(hub::faults_of(hub::cached_models(options.cache).at(0), true),
              ElementsAre(HasSubstr("model.safetensors: its content is damaged: hash ")));
  EXPECT_EQ(fetch().fetched_bytes, 0) << "its size is right";
  options.verify = true;
  EXPECT_EQ(fetch().fetched_bytes, static_cast<std::int64_t>(damaged.size()));
  EXPECT_EQ(read_file(result.folder / "model.safetensors"), weights());
}

TEST_F(FetchTest, FetchesAgainWhatHasTheWrongSize) {
  server.put_model(kFetched);
  fetch();
  write_file_atomically(blobs() / hash_of("model.safetensors"), "cut");
  EXPECT_EQ(read_file(fetch().folder / "model.safetensors"), weights());
}

TEST_F(FetchTest, TwoFetchOnce) {
  server.put_model(kFetched);
  server.play(fault({{"slow_s", 0.02}}));
  hub::FetchProgress first;
  std::jthread other([&] { hub::fetch_model({"org/small", "main"}, options, first); });
  while (first.bytes_done == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  fetch();
  other.join();
  EXPECT_EQ(server.requests("/cdn/").size(), 1U);
}

TEST_F(FetchTest, WaitsForTheLockOfAnotherProgram) {
  server.put_model(kFetched);
  const std::filesystem::path lock =
      options.cache / ".locks/models--org--small" / (hash_of("model.safetensors") + ".lock");
  write_file_atomically(lock, "");
  Child holder = Child::start({.argv = {"flock", lock.string(), "sleep", "1"}});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  fetch();
  EXPECT_THAT(notes, testing::Contains("model.safetensors: another process fetches it; waiting"));
}

TEST_F(FetchTest, OfflineAsksNobody) {
  server.put_model(kFetched);
  options.offline = true;
  EXPECT_EQ(failure(), fmt::format("org/small is not in {}, and HF_HUB_OFFLINE forbids to fetch it",
                                   options.cache.string()));
  EXPECT_THAT(server.requests(), IsEmpty());
  options.offline = false;
  fetch();
  const std::size_t before = server.requests().size();
  options.offline = true;
  EXPECT_EQ(
      hub::fetch_model({"org/small", "main"}, options, *std::make_unique<hub::FetchProgress>())
          .files,
      4);
  EXPECT_EQ(server.requests().size(), before);
  std::filesystem::remove(blobs() / hash_of("model.safetensors"));
  EXPECT_THAT(failure(), HasSubstr("model.safetensors: its link leads nowhere"));
}

TEST_F(FetchTest, SaysThatNobodyAnswers) {
  options.endpoint = "http://127.0.0.1:1";
  options.tries = 2;
  EXPECT_THAT(failure(), HasSubstr("org/small: 127.0.0.1: "));
}

TEST_F(FetchTest, RemovesARevisionAndWhatOnlyItHas) {
  server.put_model(kFetched);
  const hub::FetchResult first = fetch();
  server.put(kFetched, "README.md", "---\nlicense: mit\n---\n");
  const hub::FetchResult second = fetch();
  ASSERT_NE(first.commit, second.commit);
  std::vector<hub::CachedModel> models = hub::cached_models(options.cache);
  ASSERT_EQ(models.size(), 2U);
  const bool older = models[0].commit == first.commit;
  EXPECT_EQ(
      hub::remove_cached(options.cache, models[older ? 0 : 1]),
      static_cast<std::int64_t>(std::string("---\nlicense: apache-2.0\n---\n# A model\n").size()));
  EXPECT_THAT(hub::faults_of(hub::cached_models(options.cache).at(0), true), IsEmpty());
  EXPECT_EQ(hub::remove_cached(options.cache, models[older ? 1 : 0]), second.bytes);
  EXPECT_FALSE(std::filesystem::exists(options.cache / "models--org--small"));
}

TEST_F(FetchTest, RemovesNothingThatIsBeingFetched) {
  server.put_model(kFetched);
  fetch();
  const hub::CachedModel model = hub::cached_models(options.cache).at(0);
  server.put(kFetched, "model.safetensors", weights() + "x");
  server.play(fault({{"slow_s", 0.1}}));
  hub::FetchProgress progress;
  std::jthread other([&] {
    try {
      hub::fetch_model({"org/small", "main"}, options, progress);
    } catch (const Error&) {
      ADD_FAILURE();
    }
  });
  while (progress.bytes_done == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  try {
    hub::remove_cached(options.cache, model);
    ADD_FAILURE() << "it was removed";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "org/small is being fetched by another process; nothing is removed");
  }
}

}  // namespace
}  // namespace tunebench::hub_tests
