#include "tunebench/report/export.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/text.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::report {
namespace {

using testing::HasSubstr;
using testing::Not;

record::Record sample_record() {
  record::Record record;
  record.id = "1";
  record.run = "brisk-otter";
  record.experiment = "finetune_full_benchmark-v1.0.0";
  for (const experiment::Property& property : experiment::properties()) {
    record.inputs[property.name] = property.default_value;
  }
  record.inputs["model_name"] = "tiny, \"small\"";
  record.inputs["batch_size"] = 4;
  record.set("tokens_per_s", 1234.5);
  record.set("steps", 20);
  record.set("loss_last", std::numeric_limits<double>::quiet_NaN());
  return record;
}

record::Record failed() {
  record::Record record = sample_record();
  record.id = "2";
  record.status = record::Outcome::OomHost;
  record.reason = "needs 9 GiB,\nhas 8";
  record.measured.clear();
  return record;
}

TEST(Export, JsonParsesAndHoldsOneObjectPerAttempt) {
  const std::vector<record::Record> records{sample_record(), failed()};
  const Json rows = Json::parse(export_records(records, Format::Json), "export");
  ASSERT_EQ(rows.as_array().size(), 2U);
  const Json& first = rows.as_array()[0];
  EXPECT_EQ(first.at("tokens_per_s").as_double(), 1234.5);
  EXPECT_EQ(first.at("batch_size").as_int(), 4);
  EXPECT_TRUE(first.at("loss_last").is_null()) << "not a number is null";
  EXPECT_TRUE(first.at("loss_first").is_null()) << "not measured is null";
  EXPECT_EQ(rows.as_array()[1].at("status").as_string(), "oom_host");
  EXPECT_EQ(rows.as_array()[1].at("reason").as_string(), "needs 9 GiB,\nhas 8");
}

TEST(Export, JsonlIsOneObjectALine) {
  const std::vector<record::Record> records{sample_record(), failed()};
  const std::vector<std::string> lines = split(export_records(records, Format::Jsonl), '\n');
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(Json::parse(lines[0], "line").is_object());
  EXPECT_TRUE(Json::parse(lines[1], "line").is_object());
  EXPECT_EQ(lines[2], "");
}

TEST(Export, CsvQuotesCommasQuotesAndLineBreaks) {
  const std::vector<record::Record> records{sample_record(), failed()};
  const std::string text = export_records(records, Format::Csv);
  EXPECT_THAT(text, HasSubstr("\"tiny, \"\"small\"\"\""));
  EXPECT_THAT(text, HasSubstr("\"needs 9 GiB,\nhas 8\""));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_EQ(text.substr(text.size() - 2), "\r\n");
}

TEST(Export, CsvHasTheSameHeaderWithAndWithoutRows) {
  const std::vector<record::Record> records{sample_record()};
  const std::string full = export_records(records, Format::Csv);
  EXPECT_EQ(export_records({}, Format::Csv), full.substr(0, full.find("\r\n") + 2));
  EXPECT_THAT(full, HasSubstr("tokens_per_s"));
}

TEST(Export, MarkdownLeavesOutWhatSaysNothing) {
  const std::vector<record::Record> records{sample_record(), failed()};
  const std::string text = export_records(records, Format::Markdown);
  EXPECT_THAT(text, HasSubstr("| batch_size |"));
  EXPECT_THAT(text, HasSubstr("oom_host"));
  EXPECT_THAT(text, Not(HasSubstr("fsdp_sharding_strategy")));
  EXPECT_THAT(text, Not(HasSubstr("loss_first")));
}

TEST(Export, KnowsItsFormats) {
  for (const std::string& name : format_names()) {
    EXPECT_TRUE(find_format(name).has_value()) << name;
  }
  EXPECT_FALSE(find_format("xml").has_value());
}

TEST(ToCsv, WritesNestedValuesAsJsonText) {
  const std::vector<Json> rows{Json::object({{"a", Json::array({1, 2})}, {"b", nullptr}})};
  EXPECT_EQ(to_csv(rows), "a,b\r\n\"[1,2]\",\r\n");
}

}  // namespace
}  // namespace tunebench::report
