#include "tunebench/hub/repo_id.h"

#include <gtest/gtest.h>

namespace tunebench::hub {
namespace {

TEST(RepoIdTest, ReadsNamesAndRevisions) {
  const RepoId plain = parse_repo_id("HuggingFaceTB/SmolLM2-135M").value();
  EXPECT_EQ(plain.name, "HuggingFaceTB/SmolLM2-135M");
  EXPECT_EQ(plain.revision, "main");
  EXPECT_EQ(plain.text(), "HuggingFaceTB/SmolLM2-135M");
  EXPECT_EQ(plain.folder_name(), "models--HuggingFaceTB--SmolLM2-135M");
  EXPECT_EQ(parse_repo_id("a/b@refs/pr/1").value().text(), "a/b@refs/pr/1");
  EXPECT_EQ(parse_repo_id("a/b@v1.0").value().revision, "v1.0");
}

TEST(RepoIdTest, RefusesWhatIsNoName) {
  for (const char* text :
       {"",       "/",        "a",        "a/",     "/b",     "a/b/c",  "./b",
        "../b",   "a/..",     "a/b c",    "a//b",   "a/-b",   "a/b.",   "a--x/b",
        "a/b..c", "a/b@",     "a/b@../x", "a/b@/x", "a/b@x/", "a/b@-x", "a/b@x/../y",
        "a/b@.x", "a/b@a//b", "a\\b/c",   "a/b\n",  "~/b"}) {
    EXPECT_FALSE(parse_repo_id(text).has_value()) << text;
  }
  EXPECT_FALSE(parse_repo_id("a/" + std::string(100, 'b')).has_value());
}

TEST(RepoIdTest, ReadsFoldersOfACache) {
  EXPECT_EQ(repo_of_folder("models--org--a-b"), "org/a-b");
  for (const char* name :
       {"datasets--org--a", "models--org", "models--", ".locks", "models--..--x"}) {
    EXPECT_FALSE(repo_of_folder(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace tunebench::hub
