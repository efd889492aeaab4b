#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/exchange/column_map.h"
#include "tunebench/exchange/internal/exchange_testing.h"
#include "tunebench/report/export.h"

namespace tunebench::exchange {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ColumnMap map_of(std::string_view text, std::string_view metrics = "") {
  ColumnMap map{.experiment = "finetune_full_benchmark-v1.0.0"};
  Diagnostics problems;
  read_columns(text, "--map", false, map, problems);
  if (!metrics.empty()) {
    read_columns(metrics, "--metric", true, map, problems);
  }
  EXPECT_THAT(problems, IsEmpty());
  return map;
}

ColumnMap usual_map() {
  return map_of("m=model_name,g=number-gpus,l=model_max_length,b=batch_size",
                "t=dataset_tokens_per_second");
}

std::string refused(std::string_view text, const ColumnMap& map) {
  const TestFile file(text);
  try {
    read_csv(file.path(), map);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(CsvImport, MapsColumnsAndKeepsUnits) {
  const TestFile file("run,m,g,l,b,t\r\nr1,smollm2-135m,1,512,8,52000.5\r\nr2,tiny,0.0,64,1,7\r\n");
  const ForeignRecords read = read_csv(file.path(), usual_map());
  EXPECT_THAT(read.rejected, IsEmpty());
  EXPECT_THAT(read.notes, ElementsAre("columns that are not taken: run"));
  ASSERT_THAT(read.records, SizeIs(2));
  const record::Record& first = read.records[0];
  EXPECT_EQ(first.inputs.at("model_name"), Json("smollm2-135m"));
  EXPECT_EQ(first.inputs.at("batch_size"), Json(8));
  EXPECT_FALSE(first.inputs.contains("optim"));
  EXPECT_EQ(first.number("dataset_tokens_per_second"), 52000.5);
  EXPECT_EQ(record::source_of(first), "imported");
  EXPECT_EQ(record::flat(first).at("source"), Json("imported"));
  EXPECT_EQ(read.records[1].inputs.at("number_gpus"), Json(0));
  EXPECT_NE(first.id, read.records[1].id);
  EXPECT_TRUE(is_record_id(first.id));
}

TEST(CsvImport, EveryWrongRowIsNamedByItsLine) {
  const TestFile file(
      "m,g,l,b,t\n"
      "tiny,0,32,1,5\n"
      "tiny,0,32,1\n"
      "tiny,none,32,1,5\n"
      "tiny,0,32,many,fast\n"
      "tiny,0,32,0,5\n"
      "tiny,0,32,1,\n"
      "\"tiny\"x,0,32,1,5\n");
  const ForeignRecords read = read_csv(file.path(), usual_map());
  EXPECT_THAT(read.records, SizeIs(1));
  ASSERT_THAT(read.rejected, SizeIs(6));
  EXPECT_EQ(read.rejected[0].where, "file.csv:3");
  EXPECT_EQ(read.rejected[0].reason, "it has 4 cells, the header has 5");
  EXPECT_EQ(read.rejected[1].reason, "number_gpus is empty");
  EXPECT_THAT(read.rejected[2].reason, HasSubstr("many"));
  EXPECT_THAT(read.rejected[2].reason, HasSubstr("dataset_tokens_per_second is 'fast'"));
  EXPECT_THAT(read.rejected[3].reason, HasSubstr("batch_size"));
  EXPECT_EQ(read.rejected[4].reason, "it holds no figure");
  EXPECT_THAT(read.rejected[5].reason, HasSubstr("closing quotes"));
}

TEST(CsvImport, EqualRowsAreSeveralMeasurementsAndKnownAgain) {
  const std::string text = "m,g,l,b,t\ntiny,0,32,1,5\ntiny,0,32,1,5\ntiny,0,32,1,6\n";
  const TestFile file(text);
  const TestFile again(text, "other.csv");
  const ForeignRecords first = read_csv(file.path(), usual_map());
  const ForeignRecords second = read_csv(again.path(), usual_map());
  ASSERT_THAT(first.records, SizeIs(3));
  EXPECT_NE(first.records[0].id, first.records[1].id);
  EXPECT_EQ(first.records[0].key, first.records[2].key);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(first.records[i].id, second.records[i].id);
  }
}

TEST(CsvImport, StatusReasonAndTimeAreTaken) {
  ColumnMap map = map_of(
      "m=model_name,g=number_gpus,l=model_max_length,b=batch_size,s=status,why=reason,when=started_"
      "at",
      "t=tokens_per_s");
  const TestFile file(
      "m;g;l;b;s;why;when;t\ntiny;0;32;1;oom_host;no "
      "room;2026-01-01T00:00:00Z;\ntiny;0;32;1;bad;;;3\n");
  map.separator = ';';
  const ForeignRecords read = read_csv(file.path(), map);
  ASSERT_THAT(read.records, SizeIs(1));
  EXPECT_EQ(read.records[0].status, record::Outcome::OomHost);
  EXPECT_EQ(read.records[0].reason, "no room");
  EXPECT_EQ(read.records[0].started_at, "2026-01-01T00:00:00Z");
  ASSERT_THAT(read.rejected, SizeIs(1));
  EXPECT_EQ(read.rejected[0].reason, "'bad' is no status");
}

TEST(CsvImport, WhatIsMissingIsToldBeforeAnyRow) {
  const std::string text = "model,g,l,b,t\ntiny,0,32,1,5\n";
  EXPECT_THAT(refused(text, usual_map()), HasSubstr("there is no column 'm' - did you mean 'g'?"));
  EXPECT_THAT(refused("model_of_it,g,l,b,t\n", map_of("measured_by=model_name")),
              HasSubstr("there is no column 'measured_by'; there are model_of_it, g, l, b, t"));
  EXPECT_THAT(refused("mm,g,l,b,t\n", usual_map()), HasSubstr("did you mean 'mm'?"));
  EXPECT_THAT(refused(text, map_of("model=model_name,g=number_gpus,t=tokens_per_s")),
              HasSubstr("no column is mapped to model_max_length, batch_size"));
  ColumnMap map = usual_map();
  map.experiment.clear();
  EXPECT_THAT(refused("m,g,l,b,t\n", map), HasSubstr("--experiment ID tells it"));
  EXPECT_THAT(refused(text, {}), HasSubstr("say what they are with --map"));
  EXPECT_THAT(refused("a,a\n", usual_map()), HasSubstr("names column 'a' twice"));
  EXPECT_THAT(refused("\n", usual_map()), HasSubstr("no header"));
}

TEST(ColumnMapTest, MistakesAreToldWithTheNearestName) {
  ColumnMap map;
  Diagnostics problems;
  read_columns("a=modle_name,b,c=batch_size,d=batch_size", "--map", false, map, problems);
  read_columns("t=tokens_per_sec", "--metric", true, map, problems);
  read_constant("number_gpu=1", "--set", map, problems);
  read_constant("number_gpus=many", "--set", map, problems);
  ASSERT_THAT(problems, SizeIs(6));
  EXPECT_EQ(problems[0].line(),
            "--map: 'modle_name' is no input or metric - did you mean 'model_name'?");
  EXPECT_EQ(problems[1].line(), "--map: 'b' is not COLUMN=NAME");
  EXPECT_EQ(problems[2].line(), "--map: 'd=batch_size' contradicts 'c=batch_size'");
  EXPECT_EQ(problems[3].line(),
            "--metric: 'tokens_per_sec' is no metric - did you mean 'tokens_per_s'?");
  EXPECT_THAT(problems[4].line(), HasSubstr("did you mean 'number_gpus'?"));
}

TEST(CsvImport, OurOwnExportNeedsNoMap) {
  record::Record ok = example_record("brisk-otter");
  ok.repeat = 2;
  record::Record failed = example_record("brisk-otter");
  failed.measured.clear();
  failed.status = record::Outcome::OomGpu;
  failed.reason = "needs \"more\", says it\nin two lines";
  record::Record simulated = example_record("brisk-otter");
  simulated.trainer = "simulated";
  simulated.inputs["trainer"] = "simulated";
  const std::vector<record::Record> records{ok, failed, simulated};
  const TestFile file(report::export_records(records, report::Format::Csv));
  const ForeignRecords read = read_csv(file.path(), {});
  ASSERT_THAT(read.rejected, IsEmpty());
  ASSERT_THAT(read.records, SizeIs(3));
  EXPECT_EQ(read.records[0].id, ok.id);
  EXPECT_EQ(read.records[0].repeat, 2);
  EXPECT_EQ(read.records[0].inputs, ok.inputs);
  EXPECT_EQ(read.records[0].measured, ok.measured);
  EXPECT_EQ(read.records[0].started_at, ok.started_at);
  EXPECT_EQ(read.records[0].trainer, record::kImported);
  EXPECT_NE(read.records[0].key, ok.key);  // a file that anybody may edit is not reused
  EXPECT_EQ(read.records[1].status, record::Outcome::OomGpu);
  EXPECT_EQ(read.records[1].reason, failed.reason);
  EXPECT_EQ(record::source_of(read.records[2]), "simulated");
}

TEST(KeepForeign, AddsOnceAndAllOrNothing) {
  const TemporaryFolder folder;
  const auto store = store::open_store((folder.path() / "s.db").string(), store::OpenMode::Create);
  const TestFile good("m,g,l,b,t\ntiny,0,32,1,5\n");
  const TestFile bad("m,g,l,b,t\ntiny,0,32,1,5\ntiny,0,32,x,5\ntiny,0,32,2,5\n");
  const Imported refused = keep(*store, read_csv(bad.path(), usual_map()), "import", false);
  EXPECT_TRUE(refused.refused);
  EXPECT_THAT(store->runs(), IsEmpty());
  const Imported first = keep(*store, read_csv(good.path(), usual_map()), "import", false);
  EXPECT_EQ(first.added, 1);
  ASSERT_THAT(first.runs, SizeIs(1));
  EXPECT_EQ(store->find_run(first.runs[0]).status, "imported");
  const Imported second = keep(*store, read_csv(good.path(), usual_map()), "import", false);
  EXPECT_EQ(second.added, 0);
  EXPECT_EQ(second.known, 1);
  EXPECT_THAT(store->runs(), SizeIs(1));
  const Imported third = keep(*store, read_csv(bad.path(), usual_map()), "import", true);
  EXPECT_EQ(third.added, 1);
  EXPECT_EQ(third.known, 1);
  EXPECT_THAT(third.rejected, SizeIs(1));
  store->trash_run(first.runs[0]);
  EXPECT_EQ(keep(*store, read_csv(good.path(), usual_map()), "import", false).runs.size(), 1U);
  EXPECT_THAT(store::check_store((folder.path() / "s.db").string()), IsEmpty());
}

}  // namespace
}  // namespace tunebench::exchange
