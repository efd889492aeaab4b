// Sample stores of the reference system: two that it made itself, and what can be wrong with one.
#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/exchange/column_map.h"
#include "tunebench/exchange/internal/ado_results.h"
#include "tunebench/exchange/internal/exchange_testing.h"

namespace tunebench::exchange {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

std::vector<double> rates_of(const ForeignRecords& read) {
  std::vector<double> rates;
  for (const record::Record& record : read.records) {
    if (const auto rate = record.number("dataset_tokens_per_second")) {
      rates.push_back(*rate);
    }
  }
  return rates;
}

void expect_history(const ForeignRecords& read) {
  EXPECT_THAT(read.rejected, IsEmpty());
  EXPECT_THAT(read.records, SizeIs(9));
  EXPECT_THAT(rates_of(read),
              UnorderedElementsAre(5200, 6100, 9300, 11400, 11200, 52000, 61000, 83000));
  EXPECT_THAT(read.notes, ElementsAre(HasSubstr("'peak_gib' is not taken")));
  const record::Record& last = read.records.back();
  EXPECT_EQ(last.status, record::Outcome::Skipped);
  EXPECT_THAT(last.reason, HasSubstr("Externally defined experiments cannot be applied"));
  EXPECT_EQ(last.experiment, "historic_finetune");
}

TEST(AdoStore, ReadsAStoreThatAdoMadeAndChangesNothing) {
  const std::string before = sha256_file_hex(ado_file("history.db"));
  EXPECT_EQ(kind_of(ado_file("history.db")), FileKind::ForeignDatabase);
  const ForeignRecords read = read_ado_store(ado_file("history.db"), history_map());
  expect_history(read);
  EXPECT_EQ(read.records[0].trainer_version, "ado replay");
  EXPECT_EQ(read.records[0].inputs.at("model_name"), Json("granite-3.1-2b"));
  EXPECT_EQ(read.records[0].inputs.at("model_max_length"), Json(512));
  EXPECT_FALSE(read.records[0].inputs.contains("optim"));  // not an experiment of ours
  EXPECT_EQ(read.records[0].environment.at("generator"), Json("lab-history"));
  EXPECT_EQ(sha256_file_hex(ado_file("history.db")), before);
}

TEST(AdoStore, AStoreMadeAnewReadsTheSame) {
  const char* fresh = std::getenv("TB_ADO_STORE");  // NOLINT(concurrency-mt-unsafe): one thread
  if (fresh == nullptr) {
    GTEST_SKIP() << "TB_ADO_STORE names no history.db of tools/record_ado_store.sh";
  }
  expect_history(read_ado_store(fresh, history_map()));
}

TEST(AdoStore, NamesEveryRowItCannotTake) {
  const ForeignRecords read = read_ado_store(ado_file("history.db"), {});
  EXPECT_THAT(read.records, IsEmpty());
  ASSERT_THAT(read.rejected, SizeIs(9));
  EXPECT_THAT(read.rejected[0].where, HasSubstr("of entity r1"));
  EXPECT_THAT(read.rejected[0].reason,
              HasSubstr("property 'model' is no input of tunebench; --map model=INPUT"));
}

TEST(AdoStore, ReadsResultsOfTheActuatorAndWhatIsInvalid) {
  const ForeignRecords read = read_ado_store(ado_file("sft.db"), {});
  EXPECT_THAT(read.rejected, IsEmpty());
  ASSERT_THAT(read.records, SizeIs(5));
  const record::Record& first = read.records[0];
  EXPECT_EQ(first.experiment, "finetune_full_benchmark-v1.0.0");
  EXPECT_EQ(first.trainer_version, "ado SFTTrainer");
  EXPECT_EQ(first.number("dataset_tokens_per_second"), 52000.5);
  EXPECT_EQ(first.number("train_runtime"), 30.25);
  EXPECT_EQ(first.inputs.at("optim"), Json("adamw_torch"));  // its default
  EXPECT_EQ(first.inputs.at("flash_attn"), Json(true));
  EXPECT_EQ(first.started_at, "");
  EXPECT_EQ(read.records[2].status, record::Outcome::OomGpu);
  const record::Record& broken = read.records[3];
  EXPECT_EQ(broken.status, record::Outcome::InvalidConfig);
  EXPECT_EQ(broken.reason, "batch_size is 3 but number_gpus is 2");
  EXPECT_EQ(broken.inputs.at("flash_attn"), Json(false));  // of the parameterisation
  EXPECT_EQ(broken.inputs.at("stop_after_seconds"), Json(30.0));
  EXPECT_THAT(broken.started_at, testing::MatchesRegex("2026-12-01T[0-9:]+"));
  EXPECT_THAT(broken.environment.at("operation").as_string(), HasSubstr("random_walk@2.1.0"));
}

TEST(AdoCsv, AllItsExportsHoldTheSameResults) {
  for (const std::string name : {"history-store-target", "history-store-observed"}) {
    const ForeignRecords read = read_csv(ado_file(name + ".csv"), history_map());
    EXPECT_THAT(read.rejected, IsEmpty()) << name;
    EXPECT_THAT(rates_of(read), SizeIs(8)) << name;
  }
  const ForeignRecords store = read_ado_store(ado_file("history.db"), history_map());
  std::vector<std::string> ids;
  for (const record::Record& record : store.records) {
    ids.push_back(record.id);
  }
  for (const std::string name : {"history-operation-target", "history-operation-observed"}) {
    const ForeignRecords read = read_csv(ado_file(name + ".csv"), history_map());
    EXPECT_THAT(read.rejected, IsEmpty()) << name;
    std::vector<std::string> found;
    for (const record::Record& record : read.records) {
      found.push_back(record.id);
    }
    EXPECT_THAT(found, testing::UnorderedElementsAreArray(ids)) << name;
  }
  for (const std::string name : {"sft-store-target", "sft-store-observed"}) {
    const ForeignRecords read = read_csv(ado_file(name + ".csv"), {});
    EXPECT_THAT(read.rejected, IsEmpty()) << name;
    ASSERT_THAT(read.records, SizeIs(5)) << name;
    EXPECT_EQ(read.records[0].number("train_runtime"), 30.25);
    EXPECT_EQ(read.records[3].reason, "batch_size is 3 but number_gpus is 2");
  }
}

TEST(AdoCsv, ThePublishedHeaderIsRead) {
  const TestFile file(
      ",identifier,generatorid,experiment_id,model_name,number_gpus,model_max_length,batch_size,"
      "gpu_compute_utilization_min,train_runtime,train_samples_per_second,dataset_tokens_per_"
      "second,"
      "is_valid\n"
      "0,a,g,SFTTrainer.finetune_full_benchmark-v1.0.0-fms_hf_tuning_version.2.8.2-"
      "stop_after_seconds.30-flash_attn.0,smollm2-135m,0,512,4,0.0,30.4385,134.566,2624.1,1\n"
      "1,b,g,SFTTrainer.finetune_full_benchmark-v1.0.0,smollm2-135m,0,512,8,0.0,\"[30.5, 31.5]\","
      "\"[1, nan]\",\"[2600, 2700]\",\"[1, 1]\"\n"
      "2,c,g,SFTTrainer.finetune_full_benchmark-v1.0.0,smollm2-135m,0,512,8,0.0,-1.0,-1.0,,1\n"
      "3,d,g,,smollm2-135m,0,512,8,0.0,1,2,3,1\n"
      "4,e,g,x.finetune_full_benchmark-v1.0.0,smollm2-135m,0,512,8,,\"[1,2]\",\"[1,2,3]\",,1\n");
  const ForeignRecords read = read_csv(file.path(), {});
  ASSERT_THAT(read.records, SizeIs(4));
  EXPECT_EQ(read.records[0].inputs.at("fms_hf_tuning_version"), Json("2.8.2"));
  EXPECT_EQ(read.records[0].number("train_runtime"), 30.4385);
  EXPECT_EQ(read.records[2].number("dataset_tokens_per_second"), 2700);
  EXPECT_FALSE(read.records[2].number("train_samples_per_second").has_value());
  EXPECT_FALSE(read.records[3].number("train_runtime").has_value());  // -1: it had none
  ASSERT_THAT(read.rejected, SizeIs(2));
  EXPECT_EQ(read.rejected[0].where, "file.csv:5");
  EXPECT_THAT(read.rejected[0].reason, HasSubstr("which experiment"));
  EXPECT_THAT(read.rejected[1].reason, HasSubstr("different lengths"));
  EXPECT_THAT(read.notes, ElementsAre(HasSubstr("counts what was planned")));
}

TEST(AdoCsv, AggregatedColumnsAndUnknownOnes) {
  const TestFile file(
      ",identifier,generatorid,experiment_id,model_name,number_gpus,model_max_length,batch_size,"
      "train_runtime-mean,train_runtime-std,odd\n"
      "0,a,g,SFTTrainer.finetune_full_benchmark-v1.0.0,tiny,0,512,4,30.5,0.1,x\n");
  const ForeignRecords read = read_csv(file.path(), {});
  ASSERT_THAT(read.records, SizeIs(1));
  EXPECT_EQ(read.records[0].number("train_runtime"), 30.5);
  EXPECT_THAT(read.notes, ElementsAre("columns that are not taken: train_runtime-std, odd"));
  const TestFile lacking("identifier,generatorid,gpus,batch_size\n");
  try {
    read_csv(lacking.path(), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(),
                HasSubstr("no column for model_name, model_max_length, number_gpus"));
    EXPECT_THAT(error.message(), HasSubstr("not known are gpus"));
  }
}

TEST(AdoCopy, HoldsWhatAdoCopies) {
  CopyFrom copy{.file = ado_file("history.csv"),
                .identifier_column = "run",
                .generator = "lab-history",
                .inputs = {{"model", "model"}, {"gpus", "gpus"}, {"batch", "batch"}},
                .experiments = {{.experiment = "historic_finetune",
                                 .actuator = "replay",
                                 .figures = {{"tokens_per_second", "tokens_per_second"},
                                             {"peak_gib", "peak_gib"}},
                                 .inputs = {}}}};
  const ForeignRecords read = read_copy(copy, history_map());
  EXPECT_THAT(read.rejected, IsEmpty());
  const ForeignRecords store = read_ado_store(ado_file("history.db"), history_map());
  ASSERT_THAT(read.records, SizeIs(8));
  for (std::size_t i = 0; i < read.records.size(); ++i) {
    const auto same = [&](const record::Record& one) { return one.id == read.records[i].id; };
    EXPECT_TRUE(std::any_of(store.records.begin(), store.records.end(), same)) << i;
  }
  copy.experiments[0].figures[0].second = "tokens_per_secnd";
  EXPECT_THROW(read_copy(copy, history_map()), Error);
}

TEST(AdoReferenceTest, IsTakenApart) {
  const AdoReference full = parse_ado_reference(
      "SFTTrainer.finetune_full_benchmark-v1.0.0@1.0.0-flash_attn.0-stop_after_seconds.30");
  EXPECT_EQ(full.actuator, "SFTTrainer");
  EXPECT_EQ(full.experiment, "finetune_full_benchmark-v1.0.0");
  EXPECT_THAT(full.parameters,
              ElementsAre(std::pair("flash_attn", "0"), std::pair("stop_after_seconds", "30")));
  const AdoReference plain = parse_ado_reference("finetune_lora_benchmark-v1.0.0-r.8");
  EXPECT_EQ(plain.actuator, "");
  EXPECT_EQ(plain.experiment, "finetune_lora_benchmark-v1.0.0");
  EXPECT_THAT(plain.parameters, ElementsAre(std::pair("r", "8")));
  EXPECT_EQ(parse_ado_reference("replay.historic_finetune").experiment, "historic_finetune");
  EXPECT_EQ(parse_ado_reference("").experiment, "");
}

/// A store with one entity and the results given as SQL text.
class MadeStore {
 public:
  explicit MadeStore(const std::string& results) {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    const std::string sql = R"(
      CREATE TABLE sqlsource_abc123 (identifier TEXT, representation TEXT);
      CREATE TABLE sqlsource_abc123_measurement_requests (insert_id INTEGER PRIMARY KEY, uid TEXT,
        experiment_reference TEXT, operation_id TEXT, request_index INTEGER, request_id TEXT,
        type TEXT, status TEXT, metadata TEXT, timestamp TEXT);
      CREATE TABLE sqlsource_abc123_measurement_results (insert_id INTEGER PRIMARY KEY, uid TEXT,
        entity_id TEXT, data TEXT);
      CREATE TABLE sqlsource_abc123_measurement_requests_results (insert_id INTEGER PRIMARY KEY,
        uid TEXT, request_uid TEXT, result_uid TEXT, entity_index INTEGER);
      INSERT INTO sqlsource_abc123 VALUES ('e', '{"identifier": "e", "generatorid": "g",
        "constitutive_property_values": [
        {"value": "tiny", "property": {"identifier": "model_name"}},
        {"value": 1, "property": {"identifier": "number_gpus"}},
        {"value": 512, "property": {"identifier": "model_max_length"}},
        {"value": 4.0, "property": {"identifier": "batch_size"}}]}'), ('torn', '{');
    )" + results;
    char* problem = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &problem), SQLITE_OK)
        << problem;
    sqlite3_close(database);
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "made.db"; }

 private:
  TemporaryFolder folder_;
};

std::string result_row(const std::string& uid, const std::string& entity, const std::string& data) {
  return "INSERT INTO sqlsource_abc123_measurement_results (uid, entity_id, data) VALUES ('" + uid +
         "', '" + entity + "', '" + data + "');";
}

constexpr const char* kReference =
    R"({"actuatorIdentifier": "SFTTrainer", "experimentIdentifier": "finetune_full_benchmark-v1.0.0",)"
    R"( "parameterization": null})";

TEST(AdoStore, TheOlderLayoutHasTheReferenceInEachMeasurement) {
  const std::string data =
      std::string(
          R"({"uid": "u", "measurements": [{"value": 12.5, "property": {"targetProperty":)") +
      R"( {"identifier": "train_runtime"}, "experimentReference": )" + kReference + "}}]}";
  const ForeignRecords read = read_ado_store(MadeStore(result_row("u", "e", data)).path(), {});
  EXPECT_THAT(read.rejected, IsEmpty());
  ASSERT_THAT(read.records, SizeIs(1));
  EXPECT_EQ(read.records[0].number("train_runtime"), 12.5);
  EXPECT_EQ(read.records[0].inputs.at("batch_size"), Json(4));
}

TEST(AdoStore, AFailureKeepsItsReason) {
  const std::string data = std::string(R"({"experimentReference": )") + kReference +
                           R"(, "reason": "NotImplementedError: model"})";
  const ForeignRecords read = read_ado_store(MadeStore(result_row("u", "e", data)).path(), {});
  ASSERT_THAT(read.records, SizeIs(1));
  EXPECT_EQ(read.records[0].status, record::Outcome::Crashed);
  EXPECT_EQ(read.records[0].reason, "NotImplementedError: model");
}

TEST(AdoStore, DamagedRowsAreNamedAndTheOthersRead) {
  const std::string good = std::string(R"({"experimentReference": )") + kReference +
                           R"(, "measurements": [{"value": 3, "property": {"targetProperty":)"
                           R"( {"identifier": "train_runtime"}}}]})";
  const MadeStore store(
      result_row("1", "e", "{") + result_row("2", "gone", good) + result_row("3", "torn", good) +
      result_row("4", "e", "[]") + result_row("5", "e", R"({"measurements": []})") +
      result_row("6", "e", R"({"measurements": 7})") + result_row("7", "e", good));
  const ForeignRecords read = read_ado_store(store.path(), {});
  EXPECT_THAT(read.records, SizeIs(1));
  ASSERT_THAT(read.rejected, SizeIs(6));
  EXPECT_EQ(read.rejected[0].where, "result 1 of entity e");
  EXPECT_EQ(read.rejected[1].reason, "there is no such entity");
  EXPECT_EQ(read.rejected[2].where, "result 3 of entity torn");
  EXPECT_THAT(read.rejected[2].reason, HasSubstr("its entity is damaged"));
}

TEST(AdoStore, OtherDatabasesAndTornFilesAreRefused) {
  const TestFile text("SQLite format 3", "x.db");
  EXPECT_THROW(read_ado_store(text.path(), {}), Error);
  const TemporaryFolder folder;
  const std::string own = (folder.path() / "own.db").string();
  static_cast<void>(store::open_store(own, store::OpenMode::Create));
  EXPECT_EQ(kind_of(own), FileKind::OwnStore);
  try {
    read_ado_store(own, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("it has no sample store"));
  }
  const std::string whole = read_file(ado_file("history.db"));
  for (const std::size_t size : {4096U, 8192U, 20000U, 40000U, 61440U}) {
    const TestFile torn(whole.substr(0, size), "torn.db");
    try {
      // What is still whole may be read; what is not must be told, never crash.
      static_cast<void>(read_ado_store(torn.path(), history_map()));
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::Internal) << error.message();
    }
  }
}

}  // namespace
}  // namespace tunebench::exchange
