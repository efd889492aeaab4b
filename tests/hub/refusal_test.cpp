// Hubs that refuse, and hubs that are refused.
#include <algorithm>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "fetch_fixture.h"
#include "tunebench/hub/cache.h"

namespace tunebench::hub_tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(FetchTest, RefusesWrongBytesOfTheRightSize) {
  server.put_model(kFetched);
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
  server.put_model(kFetched);
  server.play(fault({{"wrong", true}}, "resolve-cache"));
  EXPECT_THAT(failure(), HasSubstr("config.json: the hub sent other bytes"));
}

TEST_F(FetchTest, RefusesMoreBytesThanPromised) {
  server.put_model(kFetched);
  server.play(fault({{"too_long", 100000}, {"no_length", true}, {"times", 9}}));
  EXPECT_THAT(failure(), AllOf(HasSubstr("model.safetensors: the hub sent more than the "),
                               HasSubstr(" bytes it promised")));
  EXPECT_EQ(std::filesystem::file_size(blobs() / (hash_of("model.safetensors") + ".incomplete")),
            0U);
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

// The list of a gated model is open; its files are not.
TEST_F(FetchTest, SaysWhereToAskWhenOnlyTheFilesAreGated) {
  server.put_model(kFetched);
  server.play(fault({{"status", 403}, {"code", "GatedRepo"}, {"times", 9}}, "/resolve/"));
  EXPECT_EQ(failure(), fmt::format("org/small is gated: ask for access at {}/org/small, then set "
                                   "HF_TOKEN to a token of yours (and 3 more files)",
                                   server.url()));
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
  server.put_model(kFetched);
  for (const char* name : {"../../evil.json", "/etc/evil.json", "a/../../evil.json",
                           "a\\..\\b.json", "", "a//b.json", "./evil.json", "evil\n.json"}) {
    const Json entry = Json::object(
        {{"rfilename", name}, {"size", 1}, {"blobId", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"}});
    HubServer other;
    other.put_model(kFetched);
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
    other.put_model(kFetched);
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
  server.put_sharded_model(kFetched);
  for (const char* shard : {"../config.json", "config.json", "absent.safetensors"}) {
    server.put(kFetched, "model.safetensors.index.json",
               Json::object({{"weight_map", Json::object({{"a", shard}})}}).dump());
    EXPECT_THAT(failure(), HasSubstr("which is no shard of this model")) << shard;
  }
}

TEST_F(FetchTest, RefusesModelsWithoutSafetensors) {
  server.put(kFetched, "config.json", "{}");
  EXPECT_THAT(failure(), HasSubstr("has neither model.safetensors nor"));
  server.put(kFetched, "small.gguf", "x");
  EXPECT_THAT(failure(), HasSubstr("tunebench models import"));
  server.put(kFetched, "adapter_model.safetensors", "x");
  EXPECT_THAT(failure(), HasSubstr("is an adapter"));
  server.put(kFetched, "pytorch_model.bin", "x");
  EXPECT_THAT(failure(),
              AllOf(HasSubstr("as pytorch_model.bin only"), HasSubstr("save_pretrained")));
}

TEST_F(FetchTest, ServersMustShowATrustedCertificate) {
  HubServer secure(true);
  secure.put_model(kFetched);
  options.endpoint = secure.url();
  EXPECT_THAT(failure(), HasSubstr("certificate"));
  EXPECT_THAT(notes, IsEmpty()) << "it will not be trusted next time";
  ::setenv("SSL_CERT_FILE", secure.certificate().c_str(), 1);
  EXPECT_EQ(fetch().files, 4);
  secure.play(fault({{"redirect", server.url() + "/x"}}, "/api/"));
  EXPECT_THAT(failure(), HasSubstr("redirects to an address that is not followed"));
  ::unsetenv("SSL_CERT_FILE");
}

}  // namespace
}  // namespace tunebench::hub_tests
