// The cache is shared with huggingface_hub and transformers: each reads what the other fetched.
// TB_HF_PYTHON names a Python that has them and torch; without it these tests are skipped.
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hub_server.h"
#include "session.h"
#include "tunebench/base/text.h"

namespace tunebench::hub_tests {
namespace {

using integration::Said;
using integration::Session;
using testing::HasSubstr;

constexpr const char* kSharedModel = "org/small";

class PythonCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TB_HF_PYTHON") == nullptr) {
      GTEST_SKIP() << "TB_HF_PYTHON names no Python with huggingface_hub and transformers";
    }
    ::setenv("HF_ENDPOINT", server.url().c_str(), 1);
    ::setenv("HF_HOME", (session.folder() / "hf").c_str(), 1);
    ::setenv("HF_HUB_DISABLE_XET", "1", 1);
    server.put_sharded_model(kSharedModel);
  }
  ~PythonCacheTest() override {
    for (const char* name : {"HF_ENDPOINT", "HF_HOME", "HF_HUB_OFFLINE", "HF_HUB_DISABLE_XET"}) {
      ::unsetenv(name);
    }
  }

  /// What a program prints.
  std::string python(const std::string& program) {
    const std::filesystem::path log = session.folder() / fmt::format("python.{}", ++calls_);
    Child child =
        Child::start({.argv = {std::getenv("TB_HF_PYTHON"), "-c", program}, .log_file = log});
    const auto status = child.wait_for(std::chrono::seconds(200));
    const std::string said = read_file(log);
    EXPECT_TRUE(status && status->ok()) << said;
    return said;
  }

  HubServer server;
  Session session;

 private:
  int calls_ = 0;
};

TEST_F(PythonCacheTest, TransformersLoadsWhatWeFetched) {
  ASSERT_EQ(session.run({"models", "get", kSharedModel}).exit.code, 0);
  const Json shown =
      Json::parse(session.run({"models", "show", kSharedModel, "--json"}).out, "show");
  ::setenv("HF_HUB_OFFLINE", "1", 1);
  const std::string said = python(
      "import huggingface_hub, transformers\n"
      "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
      "m = AutoModelForCausalLM.from_pretrained('org/small')\n"
      "t = AutoTokenizer.from_pretrained('org/small')\n"
      "print('versions', huggingface_hub.__version__, transformers.__version__)\n"
      "print('parameters', m.num_parameters())\n"
      "print('ids', t('abc')['input_ids'])\n"
      "print('folder', huggingface_hub.snapshot_download('org/small'))\n"
      "info = huggingface_hub.scan_cache_dir()\n"
      "print('scan', [(r.repo_id, r.nb_files) for r in info.repos], info.warnings)\n");
  std::cout << said;
  EXPECT_THAT(said, HasSubstr(fmt::format("parameters {}\n", shown.at("parameters").as_int())));
  EXPECT_THAT(said, HasSubstr("folder " + shown.at("folder").as_string()));
  EXPECT_THAT(said, HasSubstr("scan [('org/small', 6)] []"));
}

TEST_F(PythonCacheTest, WeReadWhatHuggingfaceHubFetched) {
  const std::string said = python(
      "import huggingface_hub\n"
      "print('folder', huggingface_hub.snapshot_download('org/small', allow_patterns=['*.json', "
      "'*.safetensors', 'README.md']))\n");
  std::cout << said;
  const Json shown =
      Json::parse(session.run({"models", "show", kSharedModel, "--json"}).out, "show");
  EXPECT_THAT(said, HasSubstr("folder " + shown.at("folder").as_string()));
  EXPECT_EQ(shown.at("runs_with").as_string(), "native");
  const Said checked = session.run({"models", "check"});
  EXPECT_EQ(checked.exit.code, 0) << checked.out;
  const std::size_t before = server.requests("/cdn/").size();
  EXPECT_EQ(session.run({"models", "get", kSharedModel}).exit.code, 0);
  EXPECT_EQ(server.requests("/cdn/").size(), before) << "it is there";
}

}  // namespace
}  // namespace tunebench::hub_tests
