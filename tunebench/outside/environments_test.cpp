#include "tunebench/outside/environments.h"

#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench::outside {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A Python that makes virtual environments and installs packages by saying so.
constexpr const char* kFakePython = R"(#!/bin/sh
echo "python $*" >> "$FAKE_LOG"
case "$1 $2" in
"-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; sleep 0.2 ;;
"-m pip")
  if [ -e "$FAKE_FAILS" ]; then echo "Collecting a"; echo "ERROR: no matching distribution for a"; echo "hint"; exit 1; fi
  echo "Collecting a" ;;
*) if [ "$1" = -c ]; then cp "$FAKE_SEEN" "$3"; fi ;;
esac
)";
constexpr const char* kFakeUv = "#!/bin/sh\necho \"uv $*\" >> \"$FAKE_LOG\"\n";

class EnvironmentsTest : public testing::Test {
 protected:
  EnvironmentsTest() : environments_(root()) {
    script("fake-python", kFakePython);
    write_file_atomically(file("seen"), R"({"python": "3.11.2", "broken": {},
        "packages": {"A.b_C": "1.0", "other": "9"}})");
    set("TUNEBENCH_PYTHON", file("fake-python").string());
    set("FAKE_LOG", file("log").string());
    set("FAKE_FAILS", file("fails").string());
    set("FAKE_SEEN", file("seen").string());
    // Without the uv that the machine may have.
    set("PATH", file("bin").string() + ":/usr/bin:/bin");
  }
  ~EnvironmentsTest() override {
    for (const auto& [name, value] : before_) {
      value.has_value() ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }
  }

  void set(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    before_.emplace_back(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
  std::filesystem::path root() const { return file("envs"); }
  void script(const std::string& name, const char* text) const {
    write_file_atomically(file(name), text);
    std::filesystem::permissions(file(name), std::filesystem::perms::owner_all);
  }
  std::vector<std::string> calls(const std::string& begin) const {
    std::vector<std::string> found;
    for (const std::string& line :
         split(is_there(file("log")) ? read_file(file("log")) : "", '\n')) {
      if (line.starts_with(begin)) {
        found.push_back(line);
      }
    }
    return found;
  }
  std::string error_of_use() {
    try {
      static_cast<void>(environments_.use(spec_, say_));
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  }

  TemporaryFolder folder_;
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
  std::vector<std::string> said_;
  Environments::Say say_ = [this](const std::string& text) { said_.push_back(text); };
  EnvironmentSpec spec_{.trainer = "fake",
                        .version = "1.0",
                        .lock = "a-b-c==1.0 \\\n    --hash=sha256:00\n",
                        .imports = {"a"},
                        .size = "1 GB"};
  Environments environments_;
};

TEST_F(EnvironmentsTest, AreMadeOnceWithWhatTheLockSays) {
  EXPECT_FALSE(environments_.ready(spec_));
  static_cast<void>(environments_.use(spec_, say_));
  EXPECT_TRUE(environments_.ready(spec_));
  EXPECT_THAT(said_, Contains(HasSubstr("making environment fake-1.0 (1 packages, about 1 GB)")));
  EXPECT_THAT(said_, Contains(HasSubstr("environment fake-1.0 is ready after")));
  EXPECT_THAT(calls("python -m pip install"),
              ElementsAre(testing::AllOf(HasSubstr("--require-hashes"), HasSubstr("--no-deps"),
                                         HasSubstr("lock.txt"))));
  EXPECT_EQ(read_file(environments_.folder(spec_) / "lock.txt"), spec_.lock);
  static_cast<void>(environments_.use(spec_, say_));
  EXPECT_EQ(calls("python -m venv").size(), 1U);
  EXPECT_THAT(environments_.check(spec_), IsEmpty());
}

TEST_F(EnvironmentsTest, TwoAtOnceMakeItOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      Environments own(root());
      static_cast<void>(own.use(spec_, [](const std::string&) {}));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(calls("python -m venv").size(), 1U);
  EXPECT_TRUE(environments_.ready(spec_));
}

TEST_F(EnvironmentsTest, UvIsTakenWhenItIsThere) {
  std::filesystem::create_directories(file("bin"));
  script("bin/uv", kFakeUv);
  static_cast<void>(environments_.use(spec_, say_));
  EXPECT_THAT(calls("uv pip install"), ElementsAre(HasSubstr("--require-hashes")));
  EXPECT_THAT(calls("python -m pip"), IsEmpty());
}

TEST_F(EnvironmentsTest, AFailureGivesItsLineAndLeavesNothingThatLooksReady) {
  write_file_atomically(file("fails"), "");
  EXPECT_THAT(error_of_use(),
              testing::AllOf(HasSubstr("environment fake-1.0 could not be made: pip failed: "
                                       "ERROR: no matching distribution for a (log: "),
                             HasSubstr(".log)")));
  EXPECT_FALSE(environments_.ready(spec_));
  std::filesystem::remove(file("fails"));
  EXPECT_EQ(error_of_use(), "");
  EXPECT_TRUE(environments_.ready(spec_));
}

TEST_F(EnvironmentsTest, WhatIsNotAsLockedIsToldByName) {
  write_file_atomically(file("seen"), R"({"python": "3", "packages": {"a-b-c": "1.1"},
                                          "broken": {"a": "ImportError: libx"}})");
  EXPECT_THAT(error_of_use(), testing::AllOf(HasSubstr("a-b-c is 1.1, not 1.0"),
                                             HasSubstr("a does not import: ImportError: libx")));
  write_file_atomically(file("seen"), R"({"python": "3", "packages": {}, "broken": {}})");
  EXPECT_THAT(error_of_use(), HasSubstr("a-b-c 1.0 is missing"));
}

TEST_F(EnvironmentsTest, CheckFindsWhatWasChangedLater) {
  EXPECT_THAT(environments_.check(spec_), ElementsAre(HasSubstr("it is not made")));
  static_cast<void>(environments_.use(spec_, say_));
  write_file_atomically(file("seen"),
                        R"({"python": "3", "packages": {"a-b-c": "2.0"}, "broken": {}})");
  EXPECT_THAT(environments_.check(spec_), ElementsAre("a-b-c is 2.0, not 1.0"));
}

TEST_F(EnvironmentsTest, AnotherLockIsAnotherEnvironment) {
  EnvironmentSpec other = spec_;
  other.lock += "# more\n";
  EXPECT_NE(environments_.folder(spec_), environments_.folder(other));
  static_cast<void>(environments_.use(spec_, say_));
  EXPECT_FALSE(environments_.ready(other));
}

TEST_F(EnvironmentsTest, OneInUseIsNotRemoved) {
  const std::string name = environments_.folder(spec_).filename().string();
  {
    const FileLock held = environments_.use(spec_, say_);
    Environments other(root());
    EXPECT_THROW(other.remove(name), Error);
    EXPECT_TRUE(environments_.ready(spec_));
  }
  environments_.remove(name);
  EXPECT_FALSE(is_there(environments_.folder(spec_)));
}

TEST_F(EnvironmentsTest, OnlyEnvironmentsAreRemoved) {
  write_file_atomically(file("precious/file"), "x");
  for (const char* name : {"", ".", "..", "../precious", "none", "/etc"}) {
    EXPECT_THROW(environments_.remove(name), Error) << name;
  }
  EXPECT_TRUE(is_there(file("precious/file")));
}

TEST_F(EnvironmentsTest, AreListedWithTheirState) {
  static_cast<void>(environments_.use(spec_, say_));
  const std::vector<EnvironmentState> states = environments_.list();
  ASSERT_EQ(states.size(), environment_specs().size() + 1);
  EXPECT_TRUE(states[0].known);
  EXPECT_FALSE(states[0].ready);
  EXPECT_FALSE(states.back().known) << "that of this test";
  EXPECT_TRUE(states.back().ready);
  EXPECT_GT(states.back().bytes, 0);
  EXPECT_FALSE(states.back().in_use);
  EXPECT_THAT(states.back().made_at, testing::StartsWith("20"));
  const std::optional<FileLock> held = environments_.hold(spec_);
  EXPECT_TRUE(environments_.list().back().in_use);
}

TEST_F(EnvironmentsTest, WithoutAPythonTheNameIsTold) {
  set("TUNEBENCH_PYTHON", "no-such-python");
  EXPECT_THAT(error_of_use(), HasSubstr("no-such-python"));
}

TEST(PackagesOfLock, AreNamesAndVersions) {
  EXPECT_THAT(packages_of_lock("# comment==1\nA.b_c==1.2 \\\n    --hash=sha256:1==2 \\\n"
                               "d==3.0 ; python_version < '4' \\\ne==4\n"),
              ElementsAre(testing::Pair("a-b-c", "1.2"), testing::Pair("d", "3.0"),
                          testing::Pair("e", "4")));
}

}  // namespace
}  // namespace tunebench::outside
