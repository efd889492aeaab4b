// Faults that people met with other programs, tried on the real one. What a case asks of one part
// only stands beside that part; the ids are those of the case log.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "session.h"
#include "tunebench/base/file_content.h"

namespace tunebench::integration {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// Samples of 3, 5, 8 and 2 tokens.
constexpr const char* kFourTexts =
    "{\"text\":\"aaa\"}\n{\"text\":\"bbbbb\"}\n{\"text\":\"cccccccc\"}\n{\"text\":\"dd\"}\n";

class CaseTest : public testing::Test {
 protected:
  CaseTest() {
    make_model_folder(model());
    data_ = session_.write("tp.jsonl", kFourTexts);
  }

  [[nodiscard]] std::filesystem::path model() const { return session_.folder() / "m"; }

  std::vector<std::string> words(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all{"run", "--model",  "./m", "--dataset",
                                 data_, "--length", "16",  "-q"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// The last attempt of a run that works.
  Json measured(const std::vector<std::string>& more) {
    const Said said = session_.run(words(more));
    EXPECT_EQ(said.exit.code, 0) << said.err;
    const Json all = session_.exported();
    return all.as_array().back();
  }

  void expect_refused(const std::vector<std::string>& typed, const std::string& part) {
    const Said said = session_.run(typed, std::chrono::seconds(60));
    EXPECT_EQ(said.exit.code, 1) << said.err;
    EXPECT_THAT(said.out, IsEmpty());
    const std::string line = said.err.substr(0, said.err.find('\n'));
    EXPECT_THAT(line, StartsWith("tunebench: "));
    EXPECT_THAT(line, HasSubstr(part));
    EXPECT_LT(line.size(), 600U);
    EXPECT_FALSE(std::filesystem::exists(session_.store().parent_path())) << "nothing is written";
  }

  Session session_;
  std::string data_;
};

// TPT-01, TPT-07, OPT-01
TEST_F(CaseTest, AccumulationAndBatchDoTheSameAndPaddingIsCountedApart) {
  const Json one = measured({"--batch", "1", "--gradient-accumulation-steps", "4"});
  const Json four = measured({"--batch", "4", "--gradient-accumulation-steps", "1"});
  for (const Json* record : {&one, &four}) {
    EXPECT_EQ(record->at("steps").as_int(), 1);
    EXPECT_EQ(record->at("tokens_nonpad").as_int(), 18);
    EXPECT_EQ(record->at("tokens_trained").as_int(), 14);
  }
  EXPECT_EQ(one.at("tokens").as_int(), 18);
  EXPECT_EQ(four.at("tokens").as_int(), 32);
  EXPECT_NEAR(one.at("loss_first").as_double(), four.at("loss_first").as_double(), 1e-5);
  EXPECT_NEAR(one.at("grad_norm_first").as_double(), four.at("grad_norm_first").as_double(), 1e-4);
}

// TOK-10
TEST_F(CaseTest, AHugeTokenizerLengthIsNoLimitAndASmallOneIsNotOverstepped) {
  const std::filesystem::path file = model() / "tokenizer_config.json";
  const std::vector<std::string> more{"--batch", "1", "--max-steps", "1"};
  write_file_atomically(file, R"({"model_max_length": 8})");
  expect_refused(words(more), "model_max_length 16 is above the limit of model './m' - at most 8");
  const auto loss = [&] { return measured(more).at("loss_first").as_double(); };
  std::filesystem::remove(file);
  const double without = loss();
  write_file_atomically(file, R"({"model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(loss(), without);
}

// WGT-01: what is not used is told
TEST_F(CaseTest, WarningsReachTheUser) {
  Json config = read_json_file(model() / "config.json");
  config.set("colour_of_the_sky", 3);
  write_file_atomically(model() / "config.json", config.dump());
  const Said said = session_.run(words({"--batch", "1", "--max-steps", "1"}));
  EXPECT_EQ(said.exit.code, 0);
  EXPECT_THAT(said.err, StartsWith("tunebench: warning: "));
  EXPECT_THAT(said.err, HasSubstr("colour_of_the_sky"));
}

// OPT-08, RDB-02
TEST_F(CaseTest, NotANumberIsNoSuccessAndTheExportStaysJson) {
  const Said said =
      session_.run(words({"--batch", "1", "--max-steps", "5", "--learning-rate", "1e30"}));
  EXPECT_EQ(said.exit.code, 3) << said.err;
  const Json rows = session_.exported();
  EXPECT_EQ(rows.as_array().size(), 1U) << "the same bits are not computed again";
  const Json& record = rows.as_array().back();
  EXPECT_FALSE(record.at("is_valid").as_bool());
  EXPECT_THAT(record.at("reason").as_string(), HasSubstr("not finite"));
  EXPECT_GE(record.at("nonfinite_steps").as_int(), 1);
  EXPECT_TRUE(record.at("tokens_per_s").is_null());
}

// CLI-01
TEST_F(CaseTest, FourSpellingsOfARateAreOnePoint) {
  measured({"--batch", "1", "--max-steps", "1", "--learning-rate", "1e-5,1E-5,1.0e-5,0.00001"});
  EXPECT_EQ(session_.exported().as_array().size(), 1U);
}

// CLI-04
TEST_F(CaseTest, FoldersOfAnyNameWork) {
  for (const char* name : {"mod el", "modèle-模型-🦙", "it's \"q\"", "-dash"}) {
    std::filesystem::rename(model(), session_.folder() / name);
    const Said said = session_.run({"run", "--model", name, "--dataset", data_, "--length", "16",
                                    "--batch", "1", "--max-steps", "1"});
    EXPECT_EQ(said.exit.code, 0) << said.err;
    std::filesystem::rename(session_.folder() / name, model());
  }
}

// DAT-05
TEST_F(CaseTest, NothingToLearnIsAnInvalidPointNotASuccess) {
  const Said said = session_.run(words({"--batch", "1", "--response-template", "### Response:"}));
  EXPECT_EQ(said.exit.code, 3);
  const Json record = session_.exported().as_array().back();
  EXPECT_EQ(record.at("status").as_string(), "invalid_config");
  EXPECT_THAT(record.at("reason").as_string(), HasSubstr("0 of 4 samples contain"));
}

// WGT-03, TOK-10, CFG-05: every file of a model, in every way that it can be no file
TEST_F(CaseTest, FilesThatAreNoneAreOneLineWithoutAHang) {
  using Path = std::filesystem::path;
  const std::vector<std::pair<std::string, std::function<void(const Path&)>>> damages{
      {"symbolic links", [](const Path& p) { std::filesystem::create_symlink(p.filename(), p); }},
      {"device or pipe", [](const Path& p) { ASSERT_EQ(::mkfifo(p.c_str(), 0600), 0); }},
      {"device or pipe", [](const Path& p) { std::filesystem::create_symlink("/dev/zero", p); }},
      {"Is a directory", [](const Path& p) { std::filesystem::create_directory(p); }},
      {"is a web page", [](const Path& p) { write_file_atomically(p, "<!DOCTYPE html>"); }}};
  for (const char* name :
       {"config.json", "tokenizer.json", "model.safetensors", "tokenizer_config.json"}) {
    for (const auto& [part, damage] : damages) {
      SCOPED_TRACE(name + (": " + part));
      std::filesystem::remove_all(model());
      make_model_folder(model());
      std::filesystem::remove(model() / name);
      damage(model() / name);
      expect_refused(words({"--batch", "1"}), part);
    }
  }
}

// DAT-01, DAT-07
TEST_F(CaseTest, DatasetsOfAnotherFormatAreNamed) {
  const std::vector<std::pair<std::string, std::string>> files{
      {std::string("\xFF\xFE{\0", 4), "is UTF-16"},
      {std::string("{\0\"\0", 4), "is UTF-16"},
      {"PAR1xxxx", "Parquet"},
      {"\x1F\x8B\x08", "gzip"},
      {"<html>", "a web page"},
      {"", "is empty"},
      {"{\"" + std::string(100000, 'k') + "\":1}\n", "has no field 'output'"}};
  for (const auto& [content, part] : files) {
    data_ = session_.write("d.jsonl", content);
    expect_refused(words({"--batch", "1"}), part);
  }
  ASSERT_EQ(::mkfifo((session_.folder() / "pipe").c_str(), 0600), 0);
  data_ = "pipe";
  expect_refused(words({"--batch", "1"}), "device or pipe");
}

// CLI-02, CLI-05, DAT-08
TEST_F(CaseTest, RudeOptionsAreOneLine) {
  const auto tried = [&](const std::string& length, const std::string& batch,
                         const std::vector<std::string>& more, const std::string& part) {
    std::vector<std::string> all{"run",      "--model", "./m",     "--dataset", data_,
                                 "--length", length,    "--batch", batch};
    all.insert(all.end(), more.begin(), more.end());
    SCOPED_TRACE(testing::PrintToString(all));
    expect_refused(all, part);
  };
  tried("512..128", "1", {}, "runs backwards");
  tried("1,1", "1", {}, "leaves nothing to train");
  tried("1e9", "1", {}, "--length");
  tried("", "1", {}, "--length");
  tried("16", "1,,2", {}, "empty place");
  tried("16", "nan", {}, "--batch");
  tried("16", "4097", {}, "nearest: 4096");
  tried("16", "1", {"--batch", "2"}, "given 2 times (1, 2)");
  tried("16", "1", {"--warmup-ratio", "1.5"}, "warmup_ratio is 1.5");
  tried("16", "1", {"--learning_rte", "1e-4"}, "did you mean '--learning-rate'");
  tried("16", "1", {"--store", "./new/"}, "is a folder");
  EXPECT_FALSE(std::filesystem::exists(session_.folder() / "new"));
}

}  // namespace
}  // namespace tunebench::integration
