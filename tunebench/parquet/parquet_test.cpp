#include "tunebench/parquet/parquet.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/subprocess.h"

namespace tunebench::parquet {
namespace {

using testing::HasSubstr;

std::vector<Column> sample_table() {
  return {{"steps", ColumnType::Integer, {std::int64_t{9007199254740993}, nullptr, -1}},
          {"rate", ColumnType::Real, {1234.5678901234567, 7, nullptr}},
          {"name", ColumnType::Text, {"ä, \"x\"\n", Json::array({1, "b"}), nullptr}},
          {"valid", ColumnType::Boolean, {true, false, nullptr}},
          {"nothing", ColumnType::Real, {nullptr, nullptr, nullptr}}};
}

#if defined(TB_HAS_ARROW)

/// What pyarrow reads in the file: types, then rows, as JSON; nullopt when python3 has no pyarrow
/// of its version.
std::optional<Json> read_back(const std::string& bytes) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "table.parquet", bytes);
  ChildSpec spec;
  spec.argv = {"sh", "-c",
               "exec python3 -c 'import json, sys\n"
               "try:\n  import pyarrow.parquet as p\n"
               "except ImportError:\n  sys.exit(77)\n"
               "t = p.read_table(\"table.parquet\")\n"
               "json.dump({\"types\": [str(f.type) for f in t.schema],"
               " \"rows\": t.to_pylist(), \"codec\": p.ParquetFile(\"table.parquet\").metadata"
               ".row_group(0).column(0).compression if t.num_rows else None},"
               " open(\"out.json\", \"w\"))'"};
  spec.environment = {{"PYTHONPATH", TB_ARROW_PYTHONPATH}};
  spec.working_folder = folder.path();
  Child child = Child::start(spec);
  const std::optional<ExitStatus> exit = child.wait_for(std::chrono::seconds(60));
  if (exit && exit->code == 77) {
    return std::nullopt;
  }
  return Json::parse(read_file(folder.path() / "out.json"), "pyarrow");
}

TEST(Parquet, ReadsBackWithTypesNullsAndValues) {
  ASSERT_TRUE(is_available());
  const std::optional<Json> read = read_back(write_parquet(sample_table()));
  if (!read) {
    GTEST_SKIP() << "python3 cannot import pyarrow";
  }
  EXPECT_EQ(read->at("types"), Json::array({"int64", "double", "string", "bool", "double"}));
  EXPECT_EQ(read->at("codec").as_string(), "SNAPPY");
  const Json::Array& rows = read->at("rows").as_array();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].at("steps").as_int(), 9007199254740993);
  EXPECT_EQ(rows[0].at("rate").as_double(), 1234.5678901234567);
  EXPECT_EQ(rows[0].at("name").as_string(), "ä, \"x\"\n");
  EXPECT_TRUE(rows[0].at("valid").as_bool());
  EXPECT_TRUE(rows[0].at("nothing").is_null());
  EXPECT_TRUE(rows[1].at("steps").is_null());
  EXPECT_EQ(rows[1].at("rate").as_double(), 7);
  EXPECT_EQ(rows[1].at("name").as_string(), R"([1,"b"])");
  EXPECT_FALSE(rows[1].at("valid").as_bool());
  EXPECT_EQ(rows[2].at("steps").as_int(), -1);
  EXPECT_TRUE(rows[2].at("rate").is_null());
  EXPECT_TRUE(rows[2].at("name").is_null());
  EXPECT_TRUE(rows[2].at("valid").is_null());
}

TEST(Parquet, WithoutRowsTheColumnsStand) {
  std::vector<Column> columns = sample_table();
  for (Column& column : columns) {
    column.values.clear();
  }
  const std::optional<Json> read = read_back(write_parquet(columns));
  if (!read) {
    GTEST_SKIP() << "python3 cannot import pyarrow";
  }
  EXPECT_EQ(read->at("types").as_array().size(), 5U);
  EXPECT_TRUE(read->at("rows").as_array().empty());
}

TEST(Parquet, AValueOfAnotherKindIsOurBug) {
  for (const ColumnType type : {ColumnType::Integer, ColumnType::Real, ColumnType::Boolean}) {
    const std::vector<Column> wrong{{"x", type, {"text"}}};
    EXPECT_THROW(write_parquet(wrong), Error);
  }
}

#else

TEST(Parquet, IsRefusedWithWhatToDo) {
  EXPECT_FALSE(is_available());
  try {
    write_parquet(sample_table());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_THAT(error.message(), HasSubstr("this build has no Parquet, which is optional: run "
                                           "tools/fetch-arrow"));
  }
}

#endif

}  // namespace
}  // namespace tunebench::parquet
