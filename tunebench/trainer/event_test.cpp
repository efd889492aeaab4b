#include "tunebench/trainer/event.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::trainer {
namespace {

using testing::ElementsAre;
using testing::Pair;

template <typename Kind>
Kind parsed(std::string_view line) {
  const std::optional<Event> event = parse_event(line);
  EXPECT_TRUE(event.has_value()) << line;
  return event.has_value() ? std::get<Kind>(*event) : Kind{};
}

constexpr std::string_view kStepLine =
    R"({"event":"step","n":1,"t0":100,"t1":250,"samples":8,"tokens":8192,"tokens_nonpad":8000,)"
    R"("tokens_trained":7992,"loss":2.31,"grad_norm":0.8,"lr":1e-05})";

TEST(EventTest, ReadsAStepWithAllItsCounts) {
  const auto step = parsed<StepEvent>(kStepLine);
  EXPECT_EQ(step.n, 1);
  EXPECT_EQ(step.t0, 100);
  EXPECT_EQ(step.t1, 250);
  EXPECT_EQ(step.samples, 8);
  EXPECT_EQ(step.tokens, 8192);
  EXPECT_EQ(step.tokens_nonpad, 8000);
  EXPECT_EQ(step.tokens_trained, 7992);
  EXPECT_EQ(step.loss, 2.31);
  EXPECT_EQ(step.grad_norm, 0.8);
  EXPECT_EQ(step.learning_rate, 1e-05);
}

TEST(EventTest, TakesALineWithItsLineBreak) {
  EXPECT_EQ(parsed<StepEvent>(std::string(kStepLine) + "\r\n").t1, 250);
}

TEST(EventTest, DropsEveryLineThatWasCutShort) {
  for (std::size_t length = 0; length < kStepLine.size(); ++length) {
    EXPECT_FALSE(parse_event(kStepLine.substr(0, length)).has_value()) << length;
  }
}

TEST(EventTest, DropsWhatIsNoEvent) {
  for (const std::string_view line :
       {"", "\n", "loss 2.3", "[1,2]", "3", "{}", R"({"event":3})", R"({"event":"other"})",
        R"({"event":"step","n":1})",
        R"({"event":"step","n":"1","t0":1,"t1":2,"samples":1,)"
        R"("tokens":1,"tokens_nonpad":1,"tokens_trained":1})",
        R"({"event":"memory","parts":{"weights":"many"}})", R"({"event":"end","steps":3})"}) {
    EXPECT_FALSE(parse_event(line).has_value()) << line;
  }
}

TEST(EventTest, KeepsApartALossThatIsNotToldAndOneThatIsNotFinite) {
  constexpr std::string_view kCounts =
      R"({"event":"step","n":1,"t0":1,"t1":2,"samples":1,"tokens":1,"tokens_nonpad":1,)"
      R"("tokens_trained":1)";
  EXPECT_FALSE(parsed<StepEvent>(std::string(kCounts) + "}").loss.has_value());
  const auto null = parsed<StepEvent>(std::string(kCounts) + R"(,"loss":null})");
  ASSERT_TRUE(null.loss.has_value());
  EXPECT_TRUE(std::isnan(*null.loss));
}

TEST(EventTest, WritesNumbersThatReadBackExactly) {
  StepEvent step;
  step.n = 3;
  step.t0 = 9'007'199'254'740'993;  // not a double
  step.t1 = 9'007'199'254'740'995;
  step.samples = step.tokens = step.tokens_nonpad = step.tokens_trained = 1;
  step.loss = 0.1 + 0.2;
  step.grad_norm = 5e-324;
  step.learning_rate = 1e-05;
  const auto back = parsed<StepEvent>(event_line(step));
  EXPECT_EQ(back.t0, step.t0);
  EXPECT_EQ(back.t1, step.t1);
  EXPECT_EQ(back.loss, step.loss);
  EXPECT_EQ(back.grad_norm, step.grad_norm);
  EXPECT_EQ(back.learning_rate, step.learning_rate);
}

TEST(EventTest, WritesNullForWhatIsNotFinite) {
  StepEvent step;
  step.loss = std::numeric_limits<double>::quiet_NaN();
  step.grad_norm = std::numeric_limits<double>::infinity();
  const std::string line = event_line(step);
  EXPECT_THAT(line, testing::HasSubstr(R"("loss":null,"grad_norm":null})"));
  EXPECT_EQ(line.back(), '\n');
}

TEST(EventTest, KeepsOtherMembersOfHelloAsNotes) {
  const auto hello = parsed<HelloEvent>(
      R"({"event":"hello","trainer":"native","version":"0.1.0","pid":4711,"rank":1,"world":2,)"
      R"("device":"cpu","isa":"avx2","threads":2,"recompute":"norm"})");
  EXPECT_EQ(hello.trainer, "native");
  EXPECT_EQ(hello.version, "0.1.0");
  EXPECT_EQ(hello.pid, 4711);
  EXPECT_EQ(hello.rank, 1);
  EXPECT_EQ(hello.world, 2);
  EXPECT_EQ(hello.device, "cpu");
  EXPECT_EQ(hello.isa, "avx2");
  EXPECT_THAT(hello.notes, ElementsAre(Pair("threads", "2"), Pair("recompute", "norm")));
  EXPECT_EQ(event_line(parsed<HelloEvent>(event_line(hello))), event_line(hello));
}

TEST(EventTest, WritesEveryKindSoThatItReadsBack) {
  const std::vector<Event> events = {
      PhaseEvent{.name = "load", .t = 5},
      MemoryEvent{.t = 6,
                  .device_peak_bytes = 7,
                  .host_peak_bytes = 8,
                  .parts = {{"weights", 1}, {"scratch", 2}}},
      ErrorEvent{.kind = "oom_host",
                 .message = "needs 3 GiB\nhas 2 \"GiB\"",
                 .needed_bytes = 9,
                 .phase = "train",
                 .step = 3},
      EndEvent{.status = "ok", .steps = 20},
  };
  for (const Event& event : events) {
    const std::string line = event_line(event);
    const std::optional<Event> back = parse_event(line);
    ASSERT_TRUE(back.has_value()) << line;
    EXPECT_EQ(back->index(), event.index());
    EXPECT_EQ(event_line(*back), line);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
  }
}

}  // namespace
}  // namespace tunebench::trainer
