#include "tunebench/store/internal/run_names.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::store {
namespace {

using testing::MatchesRegex;

const std::vector<std::string> kNames{"calm-heron", "brisk-otter", "brave-hare"};

std::string message_of(std::string_view text, const std::vector<std::string>& names = kNames) {
  try {
    resolve_run_name(text, names);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(NewRunNameTest, IsTwoWords) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(new_run_name([](const std::string&) { return false; }),
                MatchesRegex("[a-z]+-[a-z]+"));
  }
}

TEST(NewRunNameTest, IsOneThatIsFree) {
  std::set<std::string> taken;
  for (int i = 0; i < 2000; ++i) {
    const std::string name =
        new_run_name([&taken](const std::string& one) { return taken.contains(one); });
    EXPECT_TRUE(taken.insert(name).second) << name;
  }
}

TEST(NewRunNameTest, AddsANumberWhenAllWordsAreTaken) {
  const auto is_taken = [](const std::string& name) { return !name.ends_with("-3"); };
  EXPECT_THAT(new_run_name(is_taken), MatchesRegex("[a-z]+-[a-z]+-3"));
}

TEST(ResolveRunNameTest, TakesNamesPrefixesAndPlaces) {
  EXPECT_EQ(resolve_run_name("brisk-otter", kNames), "brisk-otter");
  EXPECT_EQ(resolve_run_name("bri", kNames), "brisk-otter");
  EXPECT_EQ(resolve_run_name("@last", kNames), "calm-heron");
  EXPECT_EQ(resolve_run_name("@last~0", kNames), "calm-heron");
  EXPECT_EQ(resolve_run_name("@last~2", kNames), "brave-hare");
}

TEST(ResolveRunNameTest, AFullNameWinsOverLongerOnes) {
  EXPECT_EQ(resolve_run_name("brisk-otter", {"brisk-otter-2", "brisk-otter"}), "brisk-otter");
}

TEST(ResolveRunNameTest, NamesTheNearestRun) {
  EXPECT_EQ(message_of("brisk-oter"), "no run is named 'brisk-oter' - did you mean 'brisk-otter'?");
  EXPECT_EQ(message_of("zzz"), "no run is named 'zzz'; the newest is calm-heron");
  EXPECT_EQ(message_of(""), "no run is named ''; the newest is calm-heron");
  EXPECT_EQ(message_of("x", {}), "there are no runs yet");
}

TEST(ResolveRunNameTest, RefusesAPrefixOfSeveral) {
  EXPECT_EQ(message_of("br"), "'br' fits several runs: brisk-otter, brave-hare");
}

TEST(ResolveRunNameTest, RefusesPlacesThatDoNotExist) {
  EXPECT_EQ(message_of("@last~3"), "'@last~3' goes too far back: there are 3 runs");
  EXPECT_EQ(message_of("@last~1", {"a-b"}), "'@last~1' goes too far back: there is 1 run");
  EXPECT_EQ(message_of("@last", {}), "there are no runs yet");
  for (const char* text : {"@lastly", "@last~", "@last~x", "@last~-1"}) {
    EXPECT_EQ(message_of(text), std::string("'") + text +
                                    "' names no run; write @last, or @last~1 for the one before "
                                    "it");
  }
}

}  // namespace
}  // namespace tunebench::store
