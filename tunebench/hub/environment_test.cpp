#include "tunebench/hub/environment.h"

#include <cstdlib>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench::hub {
namespace {

using testing::HasSubstr;
using testing::Not;

class HubEnvironmentTest : public ::testing::Test {
 protected:
  HubEnvironmentTest() {
    for (const char* name : kNames) {
      const char* value = std::getenv(name);
      if (value != nullptr) {
        before_[name] = value;
      }
      ::unsetenv(name);
    }
    set("HOME", "/home/me");
  }
  ~HubEnvironmentTest() override {
    for (const char* name : kNames) {
      ::unsetenv(name);
    }
    for (const auto& [name, value] : before_) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  static void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

  template <typename Body>
  static std::string message_of(Body&& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.message();
    }
    return "nothing was thrown";
  }

 private:
  static constexpr const char* kNames[] = {
      "HOME",        "HF_HOME",        "XDG_CACHE_HOME",         "HF_HUB_CACHE",
      "HF_ENDPOINT", "HF_HUB_OFFLINE", "HUGGINGFACE_HUB_CACHE",  "TRANSFORMERS_OFFLINE",
      "HF_TOKEN",    "HF_TOKEN_PATH",  "HUGGING_FACE_HUB_TOKEN", "HF_HUB_DISABLE_IMPLICIT_TOKEN"};
  std::map<std::string, std::string> before_;
};

TEST_F(HubEnvironmentTest, FindsTheCacheAsHuggingfaceHubDoes) {
  EXPECT_EQ(hub_cache(), "/home/me/.cache/huggingface/hub");
  set("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(hub_cache(), "/cache/huggingface/hub");
  set("HF_HOME", "~/hf");
  EXPECT_EQ(hub_cache(), "/home/me/hf/hub");
  set("HUGGINGFACE_HUB_CACHE", "/old");
  EXPECT_EQ(hub_cache(), "/old");
  set("HF_HUB_CACHE", "/new");
  EXPECT_EQ(hub_cache(), "/new");
  EXPECT_EQ(hf_home(), "/home/me/hf");
}

TEST_F(HubEnvironmentTest, ReadsTheEndpoint) {
  EXPECT_EQ(endpoint(), "https://huggingface.co");
  set("HF_ENDPOINT", "http://mirror:8080/x//");
  EXPECT_EQ(endpoint(), "http://mirror:8080/x");
  set("HF_ENDPOINT", "mirror");
  EXPECT_EQ(message_of([] { endpoint(); }),
            "HF_ENDPOINT is 'mirror', which does not begin with https:// or http://");
}

TEST_F(HubEnvironmentTest, KnowsTheWordsForOffline) {
  EXPECT_FALSE(offline());
  for (const char* word : {"1", "TRUE", "yes", "On"}) {
    set("HF_HUB_OFFLINE", word);
    EXPECT_TRUE(offline()) << word;
  }
  set("HF_HUB_OFFLINE", "0");
  EXPECT_FALSE(offline());
  set("HF_HUB_OFFLINE", "");
  set("TRANSFORMERS_OFFLINE", "1");
  EXPECT_TRUE(offline());
}

TEST_F(HubEnvironmentTest, FindsTheToken) {
  const TemporaryFolder folder;
  set("HF_HOME", folder.path().string());
  EXPECT_EQ(token(hf_home()).value, "");
  write_file_atomically(folder.path() / "token", "hf_file\n");
  EXPECT_EQ(token(hf_home()).value, "hf_file");
  EXPECT_EQ(token("/elsewhere").value, "hf_file") << "the usual home is looked at, too";
  write_file_atomically(folder.path() / "other/token", "hf_other");
  EXPECT_EQ(token(folder.path() / "other").value, "hf_other");
  write_file_atomically(folder.path() / "named", "hf_named");
  set("HF_TOKEN_PATH", (folder.path() / "named").string());
  EXPECT_EQ(token(hf_home()).value, "hf_named");
  set("HF_TOKEN", " hf_variable\r\n");
  EXPECT_EQ(token(hf_home()).value, "hf_variable");
  EXPECT_EQ(token(hf_home()).origin, "HF_TOKEN");
  set("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1");
  EXPECT_EQ(token(hf_home()).value, "");
}

TEST_F(HubEnvironmentTest, RefusesATokenThatCouldBeMoreThanThat) {
  for (const char* text : {"a\r\nX-Evil: 1", "a b", "\xC3\xA9"}) {
    set("HF_TOKEN", text);
    const std::string said = message_of([] { token("/none"); });
    EXPECT_THAT(said, HasSubstr("HF_TOKEN holds no token of a hub"));
    EXPECT_THAT(said, Not(HasSubstr("Evil")));
  }
}

}  // namespace
}  // namespace tunebench::hub
