#include "tunebench/trainer/control.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tunebench/base/error.h"

namespace tunebench::trainer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ControlTest : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    controller_ = Descriptor(ends[0]);
    trainer_ = Descriptor(ends[1]);
  }
  void send(std::string_view text) const {
    ASSERT_EQ(::write(controller_.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  static bool becomes_true(const Control& control) {
    for (int i = 0; i < 3000 && !control.stop_requested(); ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    return control.stop_requested();
  }

  Descriptor controller_;
  Descriptor trainer_;
};

TEST_F(ControlTest, TakesAStopThatComesInPieces) {
  const Control control(trainer_.get(), [] {});
  send("other\nst");
  send("op");
  EXPECT_FALSE(control.stop_requested());
  send("\n");
  EXPECT_TRUE(becomes_true(control));
}

TEST_F(ControlTest, TellsOnceThatTheControllerIsGone) {
  std::promise<void> gone;
  const Control control(trainer_.get(), [&gone] { gone.set_value(); });
  controller_.close();
  EXPECT_EQ(gone.get_future().wait_for(seconds(30)), std::future_status::ready);
  EXPECT_FALSE(control.stop_requested());
}

TEST_F(ControlTest, EndsWhileTheControllerIsThere) {
  bool gone = false;
  {
    const Control control(trainer_.get(), [&gone] { gone = true; });
  }
  EXPECT_FALSE(gone);
}

TEST_F(ControlTest, ReadsItsDescriptorFromTheEnvironment) {
  ::unsetenv("TUNEBENCH_CONTROL_FD");
  EXPECT_FALSE(Control::descriptor_from_environment().has_value());
  ::setenv("TUNEBENCH_CONTROL_FD", std::to_string(trainer_.get()).c_str(), 1);
  EXPECT_EQ(Control::descriptor_from_environment(), trainer_.get());
  ::setenv("TUNEBENCH_CONTROL_FD", "900", 1);
  EXPECT_THROW(Control::descriptor_from_environment(), Error);
  ::unsetenv("TUNEBENCH_CONTROL_FD");
}

}  // namespace
}  // namespace tunebench::trainer
