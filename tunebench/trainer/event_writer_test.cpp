#include "tunebench/trainer/event_writer.h"

#include <array>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench::trainer {
namespace {

/// The two variables as a test wants them, and as they were afterwards.
class EventWriterTest : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

  static void clear() {
    ::unsetenv("TUNEBENCH_EVENTS_FD");
    ::unsetenv("TUNEBENCH_EVENTS");
  }
  static std::string error_of_opening() {
    try {
      static_cast<void>(EventWriter::from_environment());
    } catch (const Error& error) {
      return error.message();
    }
    return "opened";
  }
};

TEST_F(EventWriterTest, WritesLinesToTheDescriptorOfTheVariable) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const Descriptor reader(ends[0]);
  const Descriptor written(ends[1]);
  ::setenv("TUNEBENCH_EVENTS_FD", std::to_string(written.get()).c_str(), 1);
  EventWriter::from_environment().write(EndEvent{.status = "ok", .steps = 2});
  std::array<char, 100> buffer{};
  const ssize_t got = ::read(reader.get(), buffer.data(), buffer.size());
  ASSERT_GT(got, 0);
  EXPECT_EQ(std::string_view(buffer.data(), static_cast<std::size_t>(got)),
            "{\"event\":\"end\",\"status\":\"ok\",\"steps\":2}\n");
}

TEST_F(EventWriterTest, AppendsToTheFileOfTheVariable) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "events";
  ::setenv("TUNEBENCH_EVENTS", file.c_str(), 1);
  EventWriter::from_environment().write(PhaseEvent{.name = "load", .t = 1});
  EventWriter::from_environment().write(PhaseEvent{.name = "train", .t = 2});
  EXPECT_EQ(read_file(file),
            "{\"event\":\"phase\",\"name\":\"load\",\"t\":1}\n"
            "{\"event\":\"phase\",\"name\":\"train\",\"t\":2}\n");
}

TEST_F(EventWriterTest, RefusesADescriptorThatIsNotOpen) {
  for (const char* value : {"900", "-1", "three", "99999999999"}) {
    ::setenv("TUNEBENCH_EVENTS_FD", value, 1);
    EXPECT_EQ(error_of_opening(),
              "TUNEBENCH_EVENTS_FD is '" + std::string(value) + "', not an open descriptor");
  }
}

TEST_F(EventWriterTest, NamesAFileThatCannotBeOpened) {
  ::setenv("TUNEBENCH_EVENTS", "/nowhere/events", 1);
  EXPECT_EQ(error_of_opening(), "TUNEBENCH_EVENTS: /nowhere/events: No such file or directory");
}

}  // namespace
}  // namespace tunebench::trainer
