#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "tunebench/base/descriptor.h"

namespace tunebench::trainer {

/// The trainer's end of the control channel, read by a thread: "stop" on a line of its own asks to
/// end after the running step; the end of the stream says that the controller is gone.
class Control {
 public:
  /// The descriptor of TUNEBENCH_CONTROL_FD, or nullopt when the variable is not set.
  /// Errors: InvalidInput when it is set to something else.
  static std::optional<int> descriptor_from_environment();

  /// That of a worker: a controller that is gone ends the process, even in the middle of a step, as
  /// nobody is left to read its event. nullptr when there is no control channel.
  static std::unique_ptr<Control> of_worker();

  /// `gone` is called from the thread, at most once, when the other end is closed.
  /// The descriptor is not closed.
  Control(int descriptor, std::function<void()> gone);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  [[nodiscard]] bool stop_requested() const { return stop_.load(std::memory_order_acquire); }

 private:
  void read_until_end();

  int descriptor_;
  std::function<void()> gone_;
  Descriptor wake_;  ///< an eventfd that ends the thread
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tunebench::trainer
