#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/record/record.h"

namespace tunebench::record {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Record sample() {
  Record record;
  record.id = new_record_id();
  record.run = "brisk-otter";
  record.key = "abc";
  record.experiment = "finetune_full_benchmark-v1.0.0";
  record.inputs = {{"model_name", "modèle-模型-🦙 \"q\""},
                   {"learning_rate", 1e-5},
                   {"fast_kernels", nullptr},
                   {"bf16", false}};
  record.repeat = 2;
  record.attempt = 3;
  record.trainer = "native";
  record.trainer_version = "0.1.0";
  record.status = Outcome::Crashed;
  record.reason = "line one\nline two";
  record.started_at = "2026-12-01T08:30:00Z";
  record.log_path = "/logs/1.log";
  record.set("tokens", std::int64_t{9007199254740993});
  record.set("timed_s", 0.1);
  record.point_key = "def";
  record.conditions = Json::object({{"driver", "550.54.14"}, {"mig", "off"}});
  record.environment = Json::object({{"cores", Json::array({1, 2.5})}});
  return record;
}

std::string message_of(std::string_view text) {
  try {
    from_text(text);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(RecordTextTest, GivesEveryMemberBack) {
  const Record record = sample();
  const Record back = from_text(to_text(record));
  EXPECT_EQ(back.id, record.id);
  EXPECT_EQ(back.run, record.run);
  EXPECT_EQ(back.key, record.key);
  EXPECT_EQ(back.point_key, record.point_key);
  EXPECT_EQ(back.conditions, record.conditions);
  EXPECT_EQ(back.experiment, record.experiment);
  EXPECT_EQ(back.inputs, record.inputs);
  EXPECT_EQ(back.repeat, record.repeat);
  EXPECT_EQ(back.attempt, record.attempt);
  EXPECT_EQ(back.trainer, record.trainer);
  EXPECT_EQ(back.trainer_version, record.trainer_version);
  EXPECT_EQ(back.status, record.status);
  EXPECT_EQ(back.reason, record.reason);
  EXPECT_EQ(back.started_at, record.started_at);
  EXPECT_EQ(back.log_path, record.log_path);
  EXPECT_EQ(back.measured, record.measured);
  EXPECT_EQ(back.environment, record.environment);
  EXPECT_EQ(to_text(back), to_text(record));
}

TEST(RecordTextTest, KeepsLargeIntegersAndFractionsExact) {
  const Record back = from_text(to_text(sample()));
  EXPECT_EQ(back.get("tokens").as_int(), 9007199254740993);
  EXPECT_EQ(back.number("timed_s"), 0.1);
}

TEST(RecordTextTest, KeepsAbsentNullNanAndInfinitiesApart) {
  Record record = sample();
  record.set("loss_first", std::nan(""));
  record.set("loss_last", kInfinity);
  record.set("grad_norm_first", -kInfinity);
  record.set("grad_norm_last", nullptr);
  const Record back = from_text(to_text(record));
  EXPECT_TRUE(std::isnan(back.number("loss_first").value()));
  EXPECT_EQ(back.number("loss_last"), kInfinity);
  EXPECT_EQ(back.number("grad_norm_first"), -kInfinity);
  EXPECT_EQ(back.measured.count("grad_norm_last"), 1U);
  EXPECT_TRUE(back.get("grad_norm_last").is_null());
  EXPECT_EQ(back.measured.count("learning_rate_last"), 0U);
}

TEST(RecordTextTest, KeepsNumbersThatAreNotFiniteInsideTheEnvironment) {
  Record record = sample();
  record.environment = Json::object({{"load", Json::array({kInfinity, 1})}});
  EXPECT_EQ(from_text(to_text(record)).environment, record.environment);
}

TEST(RecordTextTest, IsOneLine) {
  EXPECT_EQ(to_text(sample()).find('\n'), std::string::npos);
}

TEST(RecordTextTest, KeepsFieldsThatThisProgramDoesNotKnow) {
  Record record = sample();
  record.measured["a_field_of_later"] = 1;
  EXPECT_EQ(from_text(to_text(record)).measured.count("a_field_of_later"), 1U);
}

TEST(RecordTextTest, RefusesDamagedTextsByWhatIsWrong) {
  const std::string good = to_text(sample());
  EXPECT_THAT(message_of(good.substr(0, good.size() / 2)), HasSubstr("damaged record: "));
  EXPECT_THAT(message_of("{\"format\":1}"), HasSubstr("id"));
  std::string unknown = good;
  unknown.replace(unknown.find("crashed"), 7, "melted!");
  EXPECT_EQ(message_of(unknown), "damaged record: unknown status 'melted!'");
  EXPECT_EQ(message_of("{\"format\":2}"), "record format 2 is not known to this program");
}

TEST(RecordTextTest, ReadsTextsMadeBeforePointsAndConditionsWereKept) {
  Json old = Json::parse(to_text(sample()), "record");
  std::erase_if(old.as_object(), [](const Json::Member& member) {
    return member.first == "point_key" || member.first == "conditions";
  });
  const Record back = from_text(old.dump());
  EXPECT_EQ(back.point_key, "");
  EXPECT_TRUE(back.conditions.is_null());
  EXPECT_EQ(back.key, "abc");
}

TEST(RecordTextTest, RefusesConditionsThatAreNoText) {
  Json text = Json::parse(to_text(sample()), "record");
  text.set("conditions", Json::object({{"driver", 550}}));
  EXPECT_THAT(message_of(text.dump()), HasSubstr("damaged record: "));
}

TEST(RecordTextTest, ComesInTwoParts) {
  Record record = sample();
  record.environment.set("load", kInfinity);
  Record back = from_text(to_text_without_environment(record));
  EXPECT_TRUE(back.environment.is_null());
  back.environment = environment_from_text(environment_text(record.environment));
  EXPECT_EQ(to_text(back), to_text(record));
  EXPECT_THROW(environment_from_text("{"), Error);
}

}  // namespace
}  // namespace tunebench::record
