// Fetching against a hub that fails in every way: one test for each.
#include "tunebench/hub/fetch.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "hub_server.h"
#include "tunebench/base/error.h"
#include "tunebench/base/hash.h"
#include "tunebench/hub/cache.h"

namespace tunebench::hub_tests {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kModel = "org/small";

class FetchTest : public ::testing::Test {
 protected:
  FetchTest() {
    options.cache = folder_.path() / "hub";
    options.endpoint = server.url();
    options.first_pause = std::chrono::milliseconds(10);
    options.at_once = 2;
  }

  hub::FetchResult fetch(const std::string& model = kModel) {
    hub::FetchProgress progress;
    try {
      hub::FetchResult result = hub::fetch_model(*hub::parse_repo_id(model), options, progress);
      notes = progress.take_notes();
      EXPECT_EQ(progress.bytes_done, progress.bytes);
      EXPECT_EQ(progress.files_done, progress.files);
      return result;
    } catch (...) {
      notes = progress.take_notes();
      throw;
    }
  }

  /// What the failure says.
  std::string failure(const std::string& model = kModel) {
    try {
      fetch(model);
    } catch (const Error& error) {
      EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
      return error.message();
    }
    ADD_FAILURE() << "it was fetched";
    return "";
  }

  std::filesystem::path blobs(const std::string& model = kModel) const {
    return options.cache / hub::parse_repo_id(model)->folder_name() / "blobs";
  }
  std::string hash_of(const std::string& name) const {
    return sha256_file_hex(server.model_folder(kModel) / name);
  }
  std::string weights() const {
    return read_file(server.model_folder(kModel) / "model.safetensors");
  }

  /// A fault at the place where the weights come from.
  static Json fault(std::initializer_list<Json::Member> members, const char* path = "/cdn/") {
    Json one = Json::object({{"path", path}});
    for (const auto& [name, value] : members) {
      one.set(name, value);
    }
    return Json::array({one});
  }

  HubServer server;
  hub::FetchOptions options;
  std::vector<std::string> notes;

 private:
  TemporaryFolder folder_;
};

TEST_F(FetchTest, MakesTheLayoutThatOtherProgramsRead) {
  server.put_model(kModel);
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
            "../../blobs/" + git_blob_file_hex(server.model_folder(kModel) / "README.md"));
  EXPECT_EQ(read_file(options.cache / "models--org--small/refs/main"), result.commit);
  EXPECT_EQ(read_file(result.folder / "model.safetensors"), weights());
  EXPECT_EQ(hub::cached_snapshot(options.cache, {"org/small", "main"}), result.folder);
  EXPECT_EQ(hub::cached_snapshot(options.cache, {"org/small", result.commit}), result.folder);
  EXPECT_EQ(result.files, 4);
  EXPECT_EQ(result.fetched_bytes, result.bytes);
}

TEST_F(FetchTest, FetchesNothingTwice) {
  server.put_model(kModel);
  fetch();
  const std::size_t before = server.requests().size();
  EXPECT_EQ(fetch().fetched_bytes, 0);
  EXPECT_EQ(server.requests().size(), before + 1) << "the list alone";
}

TEST_F(FetchTest, FetchesTheShardsThatTheIndexNames) {
  server.put_sharded_model(kModel);
  server.put(kModel, "model-00009-of-00009.safetensors", "left over from another time");
  EXPECT_EQ(fetch().files, 6);
  EXPECT_THAT(server.requests("00009"), IsEmpty());
  EXPECT_THAT(hub::faults_of(hub::cached_models(options.cache).at(0), true), IsEmpty());
}

TEST_F(FetchTest, TakesARevision) {
  server.put_model(kModel);
  const hub::FetchResult main = fetch();
  EXPECT_EQ(fetch("org/small@refs/pr/1").folder, main.folder);
  EXPECT_EQ(read_file(options.cache / "models--org--small/refs/refs/pr/1"), main.commit);
  EXPECT_EQ(fetch("org/small@" + main.commit).folder, main.folder);
  EXPECT_EQ(failure("org/small@v9"),
            fmt::format("org/small has no revision 'v9' at {}", server.url()));
}

TEST_F(FetchTest, GoesOnWhereACutConnectionEnded) {
  server.put_model(kModel);
  server.play(fault({{"cut", 5000}}));
  fetch();
  const std::vector<Json> requests = server.requests("/cdn/");
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[1].at("range").as_string(), "bytes=5000-");
  EXPECT_THAT(notes, testing::Contains(HasSubstr("model.safetensors: ")));
}

TEST_F(FetchTest, GoesOnWithoutALength) {
  server.put_model(kModel);
  server.play(fault({{"cut", 5000}, {"no_length", true}}));
  fetch();
  EXPECT_EQ(server.requests("/cdn/").at(1).at("range").as_string(), "bytes=5000-");
}

TEST_F(FetchTest, GoesOnWhereAKilledProcessEnded) {
  server.put_model(kModel);
  write_file_atomically(blobs() / (hash_of("model.safetensors") + ".incomplete"),
                        weights().substr(0, 777));
  const hub::FetchResult result = fetch();
  EXPECT_EQ(server.requests("/cdn/").at(0).at("range").as_string(), "bytes=777-");
  EXPECT_EQ(result.fetched_bytes, result.bytes - 777);
}

TEST_F(FetchTest, BeginsAnewWhenTheServerKnowsNoRanges) {
  server.put_model(kModel);
  server.play(fault({{"no_range", true}, {"times", 9}}));
  write_file_atomically(blobs() / (hash_of("model.safetensors") + ".incomplete"), "garbage");
  const hub::FetchResult result = fetch();
  EXPECT_EQ(read_file(result.folder / "model.safetensors"), weights());
}

TEST_F(FetchTest, BeginsAnewWhenAnotherRangeComes) {
  server.put_model(kModel);
  server.play(fault({{"shift", 5}}));
  write_file_atomically(blobs() / (hash_of("model.safetensors") + ".incomplete"),
                        weights().substr(0, 777));
  EXPECT_EQ(read_file(fetch().folder / "model.safetensors"), weights());
}

TEST_F(FetchTest, BeginsAnewWhenWhatWasThereIsDamaged) {
  server.put_model(kModel);
  const std::filesystem::path incomplete = blobs() / (hash_of("model.safetensors") + ".incomplete");
  for (const std::string& left : {std::string(777, 'x'), std::string(weights().size(), 'x'),
                                  std::string(weights().size() + 5, 'x')}) {
    std::filesystem::remove_all(options.cache);
    write_file_atomically(incomplete, left);
    EXPECT_EQ(read_file(fetch().folder / "model.safetensors"), weights());
    EXPECT_FALSE(std::filesystem::exists(incomplete));
  }
}

TEST_F(FetchTest, RefusesWrongBytesOfTheRightSize) {
  server.put_model(kModel);
  server.play(fault({{"wrong", true}}));
  EXPECT_EQ(failure(),
            "org/small: model.safetensors: the hub sent other bytes than it promised (wrong hash); "
            "nothing of them is kept");
  EXPECT_FALSE(std::filesystem::exists(blobs() / hash_of("model.safetensors")));
  EXPECT_FALSE(std::filesystem::exists(blobs() / (hash_of("model.safetensors") + ".incomplete")));
  EXPECT_EQ(hub::cached_snapshot(options.cache, {"org/small", "main"}), std::nullopt);
  fetch();  // the next try gets it
}

TEST_F(FetchTest, RefusesWrongBytesOfASmallFile) {
  server.put_model(kModel);
  server.play(fault({{"wrong", true}}, "resolve-cache"));
  EXPECT_THAT(failure(), HasSubstr("config.json: the hub sent other bytes"));
}

TEST_F(FetchTest, RefusesMoreBytesThanPromised) {
  server.put_model(kModel);
  server.play(fault({{"too_long", 100000}, {"no_length", true}, {"times", 9}}));
  EXPECT_THAT(failure(), AllOf(HasSubstr("model.safetensors: the hub sent more than the "),
                               HasSubstr(" bytes it promised")));
  EXPECT_EQ(std::filesystem::file_size(blobs() / (hash_of("model.safetensors") + ".incomplete")),
            0U);
}

TEST_F(FetchTest, WaitsAsLongAsTheServerAsks) {
  server.put_model(kModel);
  server.play(fault({{"status", 429}, {"headers", Json::object({{"Retry-After", "1"}})}}));
  const auto begun = std::chrono::steady_clock::now();
  fetch();
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
  EXPECT_THAT(notes, testing::Contains("model.safetensors: status 429; again in 1.0 s"));
}

TEST_F(FetchTest, DoesNotWaitForEver) {
  server.put_model(kModel);
  server.play(
      fault({{"status", 429}, {"headers", Json::object({{"Retry-After", "7200"}})}}, "/api/"));
  EXPECT_EQ(failure(), fmt::format("org/small: {} has answered too many requests (status 429); it "
                                   "asks to come again in 2 h 0 min",
                                   server.url()));
}

TEST_F(FetchTest, TriesAgainWhenTheServerIsIll) {
  server.put_model(kModel);
  server.play(Json::array({Json::object({{"path", "/api/"}, {"status", 503}, {"times", 2}}),
                           Json::object({{"path", "/cdn/"}, {"status", 500}, {"times", 3}})}));
  fetch();
  EXPECT_EQ(server.requests("/api/models").size(), 3U);
  EXPECT_EQ(server.requests("/cdn/").size(), 4U);
}

TEST_F(FetchTest, GivesUpAfterSomeTries) {
  server.put_model(kModel);
  server.play(fault({{"status", 502}, {"times", 99}}));
  EXPECT_EQ(failure(),
            fmt::format("org/small: model.safetensors: {} answers with status 502", server.url()));
  EXPECT_EQ(server.requests("/cdn/").size(), 5U);
}

TEST_F(FetchTest, CutsAConnectionThatBringsNothing) {
  server.put_model(kModel);
  options.stall_s = 1;
  server.play(fault({{"cut", 3000}, {"stall_s", 30}}));
  const auto begun = std::chrono::steady_clock::now();
  fetch();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
  EXPECT_EQ(server.requests("/cdn/").at(1).at("range").as_string(), "bytes=3000-");
}

TEST_F(FetchTest, TakesSlowBytes) {
  server.put_model(kModel);
  server.play(fault({{"slow_s", 0.002}}));
  fetch();
  EXPECT_EQ(server.requests("/cdn/").size(), 1U);
}

TEST_F(FetchTest, StopsWhenTold) {
  server.put_model(kModel);
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

TEST_F(FetchTest, SaysThatAModelIsNotThere) {
  EXPECT_EQ(failure(), fmt::format("org/small is not at {}, or it is private and HF_TOKEN must be "
                                   "set",
                                   server.url()));
  options.token = {"hf_right", "HF_TOKEN"};
  EXPECT_EQ(failure(), fmt::format("org/small is not at {}, or it is private and the token in "
                                   "HF_TOKEN may not see it",
                                   server.url()));
}

TEST_F(FetchTest, SaysWhereToAskForAGatedModel) {
  server.put_model("org/gated-one");
  EXPECT_EQ(failure("org/gated-one"),
            fmt::format("org/gated-one is gated: ask for access at {}/org/gated-one, then set "
                        "HF_TOKEN to a token of yours",
                        server.url()));
  options.token = {"hf_wrong", "HF_TOKEN"};
  EXPECT_EQ(failure("org/gated-one"),
            fmt::format("org/gated-one is gated: ask for access at {}/org/gated-one; the token in "
                        "HF_TOKEN has none yet",
                        server.url()));
  options.token = {"hf_right", "HF_TOKEN"};
  fetch("org/gated-one");
}

TEST_F(FetchTest, SaysThatATokenIsNotTaken) {
  server.play(fault({{"status", 401}}, "/api/"));
  options.token = {"hf_old", "the file token"};
  const std::string said = failure();
  EXPECT_EQ(said,
            fmt::format("org/small: {} does not take the token in the file token", server.url()));
  EXPECT_THAT(said, Not(HasSubstr("hf_old")));
}

TEST_F(FetchTest, ATokenDoesNotLeaveItsServer) {
  server.put_model("org/gated-one");
  options.token = {"hf_right", "HF_TOKEN"};
  fetch("org/gated-one");
  int with = 0;
  for (const Json& request : server.requests()) {
    const bool at_hub = request.at("at").as_string() == "hub";
    EXPECT_EQ(request.at("token").is_null(), !at_hub) << request.dump();
    with += at_hub ? 1 : 0;
  }
  EXPECT_EQ(with, 6) << "the list, three small files of which one moves, the weights' address";
}

TEST_F(FetchTest, FollowsSoManyRedirectsOnly) {
  server.play(fault({{"redirect", "itself"}, {"times", 99}}, "/api/"));
  EXPECT_EQ(failure(), "org/small: 127.0.0.1: more than 10 redirects");
  EXPECT_EQ(server.requests().size(), 11U);
}

TEST_F(FetchTest, FollowsNoRedirectToAFile) {
  for (const char* place : {"file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x"}) {
    HubServer other;
    other.play(fault({{"redirect", place}}, "/api/"));
    options.endpoint = other.url();
    EXPECT_EQ(failure(), "org/small: 127.0.0.1 redirects to an address that is not followed");
  }
}

TEST_F(FetchTest, RefusesNamesThatLeadOutOfTheFolder) {
  server.put_model(kModel);
  for (const char* name : {"../../evil.json", "/etc/evil.json", "a/../../evil.json",
                           "a\\..\\b.json", "", "a//b.json", "./evil.json", "evil\n.json"}) {
    const Json entry = Json::object(
        {{"rfilename", name}, {"size", 1}, {"blobId", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"}});
    HubServer other;
    other.put_model(kModel);
    other.play(fault({{"more", Json::array({entry})}}, "/api/"));
    options.endpoint = other.url();
    EXPECT_THAT(failure(), HasSubstr("which is no name of a file inside a model")) << name;
  }
  EXPECT_THAT(hub::cached_models(options.cache), IsEmpty());
}

TEST_F(FetchTest, RefusesHashesAndSizesThatAreNone) {
  const Json no_hash = Json::object({{"blobId", "../../../evil"}});
  const Json no_size = Json::object({{"size", -1}});
  const Json huge = Json::object({{"size", std::int64_t{1} << 60}});
  for (const Json& change : {no_hash, no_size, huge}) {
    HubServer other;
    other.put_model(kModel);
    other.play(fault({{"change", Json::object({{"README.md", change}})}}, "/api/"));
    options.endpoint = other.url();
    EXPECT_THAT(failure(), HasSubstr("tells no size and hash of README.md")) << change.dump();
  }
}

TEST_F(FetchTest, RefusesAnswersThatAreNoList) {
  for (const char* body :
       {"<html>maintenance</html>", "{}", "[]", "{\"sha\": \"main\", \"siblings\": []}"}) {
    HubServer other;
    other.play(fault({{"body", body}}, "/api/"));
    options.endpoint = other.url();
    EXPECT_THAT(failure(), HasSubstr("org/small: " + other.url())) << body;
  }
}

TEST_F(FetchTest, RefusesAListWithoutEnd) {
  server.play(fault({{"endless", true}}, "/api/"));
  EXPECT_EQ(failure(), "org/small: its list of files is longer than 32.0 MiB");
}

TEST_F(FetchTest, RefusesShardsThatAreNone) {
  server.put_sharded_model(kModel);
  for (const char* shard : {"../config.json", "config.json", "absent.safetensors"}) {
    server.put(kModel, "model.safetensors.index.json",
               Json::object({{"weight_map", Json::object({{"a", shard}})}}).dump());
    EXPECT_THAT(failure(), HasSubstr("which is no shard of this model")) << shard;
  }
}

TEST_F(FetchTest, RefusesModelsWithoutSafetensors) {
  server.put(kModel, "config.json", "{}");
  EXPECT_THAT(failure(), HasSubstr("has neither model.safetensors nor"));
  server.put(kModel, "small.gguf", "x");
  EXPECT_THAT(failure(), HasSubstr("tunebench models import"));
  server.put(kModel, "adapter_model.safetensors", "x");
  EXPECT_THAT(failure(), HasSubstr("is an adapter"));
  server.put(kModel, "pytorch_model.bin", "x");
  EXPECT_THAT(failure(),
              AllOf(HasSubstr("as pytorch_model.bin only"), HasSubstr("save_pretrained")));
}

TEST_F(FetchTest, VerifiesWhatIsThere) {
  server.put_model(kModel);
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
  server.put_model(kModel);
  fetch();
  write_file_atomically(blobs() / hash_of("model.safetensors"), "cut");
  EXPECT_EQ(read_file(fetch().folder / "model.safetensors"), weights());
}

TEST_F(FetchTest, TwoFetchOnce) {
  server.put_model(kModel);
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
  server.put_model(kModel);
  const std::filesystem::path lock =
      options.cache / ".locks/models--org--small" / (hash_of("model.safetensors") + ".lock");
  write_file_atomically(lock, "");
  Child holder = Child::start({.argv = {"flock", lock.string(), "sleep", "1"}});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  fetch();
  EXPECT_THAT(notes, testing::Contains("model.safetensors: another process fetches it; waiting"));
}

TEST_F(FetchTest, OfflineAsksNobody) {
  server.put_model(kModel);
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

TEST_F(FetchTest, ServersMustShowATrustedCertificate) {
  HubServer secure(true);
  secure.put_model(kModel);
  options.endpoint = secure.url();
  EXPECT_THAT(failure(), HasSubstr("certificate"));
  EXPECT_THAT(notes, IsEmpty()) << "it will not be trusted next time";
  ::setenv("SSL_CERT_FILE", secure.certificate().c_str(), 1);
  EXPECT_EQ(fetch().files, 4);
  secure.play(fault({{"redirect", server.url() + "/x"}}, "/api/"));
  EXPECT_THAT(failure(), HasSubstr("redirects to an address that is not followed"));
  ::unsetenv("SSL_CERT_FILE");
}

TEST_F(FetchTest, RemovesARevisionAndWhatOnlyItHas) {
  server.put_model(kModel);
  const hub::FetchResult first = fetch();
  server.put(kModel, "README.md", "---\nlicense: mit\n---\n");
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
  server.put_model(kModel);
  fetch();
  const hub::CachedModel model = hub::cached_models(options.cache).at(0);
  server.put(kModel, "model.safetensors", weights() + "x");
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
