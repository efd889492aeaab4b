#include "tunebench/record/record.h"

#include <cmath>
#include <limits>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::record {
namespace {

using testing::ElementsAre;

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(OutcomeTest, NamesAreThoseThatAreStored) {
  // Stored names never change.
  const std::vector<std::string> names{"ok",      "oom_gpu",     "oom_host", "invalid_config",
                                       "timeout", "nccl",        "cuda",     "io",
                                       "killed",  "interrupted", "crashed",  "skipped"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(outcome_name(outcome), names[i]);
    EXPECT_EQ(find_outcome(names[i]), outcome);
  }
  EXPECT_EQ(find_outcome("oom"), std::nullopt);
}

TEST(RecordTest, KeepsWhatIsSet) {
  Record record;
  record.set("steps", 20);
  record.set("timed_s", 1.5);
  EXPECT_EQ(record.get("steps"), Json(20));
  EXPECT_EQ(record.number("timed_s"), 1.5);
  EXPECT_EQ(record.number("loss_first"), std::nullopt);
  EXPECT_TRUE(record.get("loss_first").is_null());
}

TEST(RecordTest, RefusesFieldsThatAreNotInTheTable) {
  Record record;
  EXPECT_EQ(message_of([&] { record.set("tokens_per_sec", 1.0); }),
            "there is no field 'tokens_per_sec'");
}

TEST(RecordTest, RefusesValuesOfAnotherKind) {
  Record record;
  EXPECT_NE(message_of([&] { record.set("steps", 1.5); }).find("field 'steps' is"),
            std::string::npos);
  EXPECT_NE(message_of([&] { record.set("isa", 2); }), "");
  EXPECT_NO_THROW(record.set("timed_s", 2));
  EXPECT_NO_THROW(record.set("steps", nullptr));
}

TEST(RecordTest, IsValidOnlyWhenOk) {
  Record record;
  EXPECT_TRUE(record.is_valid());
  record.status = Outcome::InvalidConfig;
  EXPECT_FALSE(record.is_valid());
}

TEST(RecordIdTest, SortsInTheOrderMadeAndIsUnique) {
  std::string last;
  for (int i = 0; i < 10000; ++i) {
    const std::string id = new_record_id();
    ASSERT_EQ(id.size(), 26U);
    ASSERT_LT(last, id);
    last = id;
  }
}

TEST(RecordIdTest, IsUniqueAcrossThreads) {
  std::vector<std::vector<std::string>> made(4);
  std::vector<std::thread> threads;
  for (std::vector<std::string>& ids : made) {
    threads.emplace_back([&ids] {
      for (int i = 0; i < 1000; ++i) {
        ids.push_back(new_record_id());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::set<std::string> all;
  for (const std::vector<std::string>& ids : made) {
    all.insert(ids.begin(), ids.end());
  }
  EXPECT_EQ(all.size(), 4000U);
}

TEST(FlatTest, HasAFixedOrderWhateverIsMeasured) {
  Record full;
  full.inputs["batch_size"] = 4;
  full.set("tokens_per_s", 100.0);
  const Json a = flat(full);
  const Json b = flat(Record{});
  ASSERT_EQ(a.as_object().size(), b.as_object().size());
  for (std::size_t i = 0; i < a.as_object().size(); ++i) {
    EXPECT_EQ(a.as_object()[i].first, b.as_object()[i].first);
  }
  std::vector<std::string> first;
  for (std::size_t i = 0; i < 8; ++i) {
    first.push_back(a.as_object()[i].first);
  }
  EXPECT_THAT(first, ElementsAre("run", "status", "reason", "is_valid", "experiment", "repeat",
                                 "attempt", "model_name"));
}

TEST(FlatTest, HasEveryNameOnce) {
  const Json row = flat(Record{});
  std::set<std::string> names;
  for (const Json::Member& member : row.as_object()) {
    EXPECT_TRUE(names.insert(member.first).second) << member.first;
  }
  for (const experiment::Property& property : experiment::properties()) {
    EXPECT_TRUE(names.contains(property.name));
  }
  for (const Field& field : fields()) {
    EXPECT_TRUE(names.contains(field.name));
  }
}

TEST(FlatTest, ShowsThePointAndTheConditions) {
  Record record;
  record.point_key = "abc";
  record.conditions = Json::object({{"driver", "550"}, {"hardware_class", "h200"}});
  const Json row = flat(record);
  EXPECT_EQ(row.at("point_key"), Json("abc"));
  EXPECT_EQ(row.at("driver"), Json("550"));
  EXPECT_EQ(row.at("hardware_class"), Json("h200"));
  EXPECT_TRUE(row.at("cuda").is_null());
}

TEST(FlatTest, WritesNullForWhatIsAbsentOrNotFinite) {
  Record record;
  record.status = Outcome::Crashed;
  record.reason = "signal 11";
  record.set("loss_last", std::nan(""));
  record.set("tokens_per_s", std::numeric_limits<double>::infinity());
  record.set("loss_first", 2.5);
  const Json row = flat(record);
  EXPECT_TRUE(row.at("loss_last").is_null());
  EXPECT_TRUE(row.at("tokens_per_s").is_null());
  EXPECT_TRUE(row.at("batch_size").is_null());
  EXPECT_EQ(row.at("loss_first"), Json(2.5));
  EXPECT_EQ(row.at("status"), Json("crashed"));
  EXPECT_EQ(row.at("is_valid"), Json(false));
}

}  // namespace
}  // namespace tunebench::record
