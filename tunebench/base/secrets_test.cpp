#include "tunebench/base/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench {
namespace {

using testing::ElementsAre;

std::string masked(std::string_view text) {
  return mask_secrets(text);
}

TEST(SecretsTest, HidesTokensThatAreKnownByTheirBeginning) {
  EXPECT_EQ(masked("login with hf_abcdefGHIJKLmnop now"), "login with *** now");
  EXPECT_EQ(masked("hf_a1b2c3d4"), "***");
  EXPECT_EQ(masked("key sk-proj-0123456789abcdef."), "key ***.");
  EXPECT_EQ(masked("ghp_0123456789abcdefghij"), "***");
  EXPECT_EQ(masked("github_pat_11AAAAAA_bbbbbbbbbb"), "***");
  EXPECT_EQ(masked("(AKIAIOSFODNN7EXAMPLE)"), "(***)");
  EXPECT_EQ(masked("--x=hf_abcdefGHIJKLmnop"), "--x=***");
}

TEST(SecretsTest, HidesWhatFollowsTheNameOfASecret) {
  EXPECT_EQ(masked("HF_TOKEN=abc python x.py"), "HF_TOKEN=*** python x.py");
  EXPECT_EQ(masked("run --token abc --batch 1"), "run --token *** --batch 1");
  EXPECT_EQ(masked("run --api-key 'a b' --batch 1"), "run --api-key '***' --batch 1");
  EXPECT_EQ(masked("--password=hunter2"), "--password=***");
  EXPECT_EQ(masked("password: hunter2"), "password: ***");
  EXPECT_EQ(masked("db.password = hunter2"), "db.password = ***");
  EXPECT_EQ(masked(R"({"token": "abc", "n": 1})"), R"({"token": "***", "n": 1})");
  EXPECT_EQ(masked("AWS_SECRET_ACCESS_KEY=a/b+c"), "AWS_SECRET_ACCESS_KEY=***");
  EXPECT_EQ(masked("Authorization: Bearer abcdefgh.ij"), "Authorization: Bearer ***");
  EXPECT_EQ(masked("curl -H bearer abcdefgh"), "curl -H bearer ***");
}

TEST(SecretsTest, HidesCredentialsInUrls) {
  EXPECT_EQ(masked("https://user:pa:ss@host/x"), "https://***@host/x");
  EXPECT_EQ(masked("https://u:p@ss@host/x"), "https://***@host/x");
  EXPECT_EQ(masked("https://host/x?token=abc&page=2"), "https://host/x?token=***&page=2");
  EXPECT_EQ(masked("https://host/x?a=1&X-Amz-Signature=ab12"),
            "https://host/x?a=1&X-Amz-Signature=***");
  EXPECT_EQ(masked("ssh://git@host/x"), "ssh://git@host/x");
  EXPECT_EQ(masked("https://host/a@b"), "https://host/a@b");
}

TEST(SecretsTest, LeavesOtherTextAlone) {
  for (const std::string text :
       {"tokens_per_s=1200 tokens: 512", "unexpected token: '}'",
        "pip install hf_transfer sk-learn", "CUDA out of memory. Tried to allocate 2.00 GiB.", "",
        "keyboard=us", "monkey=1", "tunebench run --model tiny --length 32,64 --batch 1,2",
        "key: value", "a = b"}) {
    EXPECT_EQ(masked(text), text);
  }
  EXPECT_EQ(masked("token="), "token=");
}

TEST(SecretsTest, HidesInEveryLine) {
  EXPECT_EQ(masked("a\nTOKEN=x\nb\npassword: y\r\nc"), "a\nTOKEN=***\nb\npassword: ***\r\nc");
}

TEST(SecretsTest, HidesAWordWhole) {
  const std::vector<std::string> words{"run", "--token",      "it's a secret", "-m",
                                       "x",   "--hf-key=a b", "--api-key",     "--json"};
  EXPECT_THAT(mask_secrets(words), ElementsAre("run", "--token", "***", "-m", "x", "--hf-key=***",
                                               "--api-key", "--json"));
}

TEST(SecretsTest, SurvivesAnyBytes) {
  std::string text;
  for (int i = 0; i < 4096; ++i) {
    text += static_cast<char>(i * 7919 % 256);
  }
  EXPECT_FALSE(masked(text).empty());
  EXPECT_EQ(masked(std::string(1 << 20, 'a')).size(), 1U << 20U);
}

}  // namespace
}  // namespace tunebench
