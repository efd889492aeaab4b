#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session.h"
#include "tunebench/base/text.h"

namespace tunebench::integration {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// The words of a run that would work, with some replaced or added.
std::vector<std::string> words_with(std::vector<std::pair<std::string, std::string>> changes) {
  std::vector<std::pair<std::string, std::string>> options{
      {"--model", "tiny"}, {"--length", "16"}, {"--batch", "1"}, {"--max-steps", "1"}};
  for (auto& [name, value] : changes) {
    const auto found = std::find_if(options.begin(), options.end(),
                                    [&](const auto& option) { return option.first == name; });
    if (found != options.end()) {
      found->second = value;
    } else {
      options.emplace_back(name, value);
    }
  }
  std::vector<std::string> words{"run"};
  for (const auto& [name, value] : options) {
    words.push_back(name);
    words.push_back(value);
  }
  return words;
}

/// One clear line, exit 1, nothing written.
void expect_refused(Session& session, const std::vector<std::string>& words,
                    const std::vector<std::string>& parts) {
  const Said said = session.run(words);
  EXPECT_EQ(said.exit.code, 1) << said.err;
  EXPECT_EQ(said.exit.signal, 0);
  EXPECT_THAT(said.out, IsEmpty());
  const std::string line = said.err.substr(0, said.err.find('\n'));
  EXPECT_THAT(line, StartsWith("tunebench: "));
  for (const std::string& part : parts) {
    EXPECT_THAT(line, HasSubstr(part));
  }
  EXPECT_FALSE(std::filesystem::exists(session.store())) << "nothing is written";
}

struct BadInput {
  std::string name;
  std::vector<std::pair<std::string, std::string>> changes;
  std::vector<std::string> parts;
};

class BadOption : public testing::TestWithParam<BadInput> {};

TEST_P(BadOption, IsOneClearLine) {
  Session session;
  expect_refused(session, words_with(GetParam().changes), GetParam().parts);
}

INSTANTIATE_TEST_SUITE_P(
    Run, BadOption,
    testing::Values(
        BadInput{"UnknownModel", {{"--model", "tinny"}}, {"tinny", "did you mean 'tiny'"}},
        BadInput{"BatchZero", {{"--batch", "0"}}, {"--batch", "0", "1"}},
        BadInput{"BatchNegative", {{"--batch", "-1"}}, {"--batch", "-1"}},
        BadInput{"BatchFraction", {{"--batch", "1.5"}}, {"--batch", "1.5"}},
        BadInput{"BatchWord", {{"--batch", "four"}}, {"--batch", "four"}},
        BadInput{"LengthAboveTheLimit",
                 {{"--length", "100000"}},
                 {"100000", "above the limit of model 'tiny'", "at most"}},
        BadInput{"UnknownOption",
                 {{"--batch_sise", "4"}},
                 {"unknown option '--batch_sise'", "did you mean '--batch-size'"}},
        BadInput{"UnknownDataset",
                 {{"--dataset", "news-tokens-16384plus-entries-4069"}},
                 {"news-tokens-16384plus-entries-4069", "did you mean"}},
        BadInput{"MissingDatasetFile", {{"--dataset", "none.jsonl"}}, {"none.jsonl"}},
        BadInput{"Gpu", {{"--gpus", "1"}}, {"number_gpus"}},
        BadInput{"NotSupportedByNative", {{"--enable-roce", "true"}}, {"enable_roce", "native"}},
        BadInput{"UnknownExperiment",
                 {{"--experiment", "finetune_ful_benchmark-v1.0.0"}},
                 {"finetune_ful_benchmark-v1.0.0", "finetune_full_benchmark-v1.0.0"}},
        BadInput{"ExperimentNotRunnable",
                 {{"--experiment", "finetune_gptq-lora_benchmark-v1.0.0"}},
                 {"finetune_gptq-lora_benchmark-v1.0.0", "cannot be run"}},
        BadInput{
            "LoraTargetThatIsNotThere",
            {{"--experiment", "finetune_lora_benchmark"}, {"--target-modules", "q_proj v_porj"}},
            {"target_modules: 'v_porj' fits no projection", "did you mean 'v_proj'?"}},
        BadInput{"RankWithoutLora", {{"--r", "8"}}, {"r 8 is not supported by trainer native"}},
        BadInput{"ExperimentOfAnotherTrainer",
                 {{"--trainer", "hf"}, {"--experiment", "finetune_pt_benchmark-v1.0.0"}},
                 {"finetune_pt_benchmark-v1.0.0 cannot be run by trainer hf", "fms-hf-tuning"}},
        BadInput{"CommandWithoutAProgram", {{"--trainer", "command"}}, {"--", "PROGRAM"}},
        BadInput{"PresetForAnOutsideTrainer",
                 {{"--trainer", "hf"}, {"--model", "tiny"}},
                 {"model_name tiny", "model folder"}},
        BadInput{"SimulatedWithoutAModel",
                 {{"--trainer", "simulated"}},
                 {"--simulation: no file is given"}},
        BadInput{"SimulationMissing",
                 {{"--trainer", "simulated"}, {"--simulation", "none.json"}},
                 {"--simulation", "none.json"}},
        BadInput{"SimulationForNative",
                 {{"--simulation", "none.json"}},
                 {"--simulation: only --trainer simulated plays a model"}},
        BadInput{"Until", {{"--until", "0%"}}, {"--until", "0%", "percentage"}},
        BadInput{"MaxRepeatsAlone", {{"--max-repeats", "5"}}, {"--max-repeats", "--until"}},
        BadInput{"Order", {{"--order", "sorted"}}, {"--order", "sorted", "grid, random"}},
        BadInput{"OrderSeedAlone", {{"--order-seed", "5"}}, {"--order-seed", "--order random"}},
        BadInput{"Price", {{"--price", "-1"}}, {"--price", "-1", "above 0"}},
        BadInput{"Timeout", {{"--timeout", "0"}}, {"--timeout", "above 0"}}),
    [](const auto& bad) { return bad.param.name; });

TEST(BadCommand, NamesTheNearest) {
  Session session;
  expect_refused(session, {"rum"}, {"unknown command 'rum'", "did you mean 'run'"});
}

TEST(BadCommand, MissingInputsAreNamedTogether) {
  Session session;
  const Said said = session.run({"run", "--model", "tiny"});
  EXPECT_EQ(said.exit.code, 1);
  EXPECT_THAT(said.err, HasSubstr("model_max_length"));
  EXPECT_THAT(said.err, HasSubstr("batch_size"));
}

TEST(BadDataset, EmptyFile) {
  Session session;
  const std::string file = session.write("empty.jsonl", "");
  expect_refused(session, words_with({{"--dataset", file}}), {"empty.jsonl", "is empty"});
}

TEST(BadDataset, BrokenLineIsNamedByNumber) {
  Session session;
  const std::string file =
      session.write("d.jsonl", "{\"output\":\"a\"}\n\n{\"output\":\"b\"}\n{\"output\":\"c\"\n");
  expect_refused(session, words_with({{"--dataset", file}}), {"d.jsonl:4"});
}

TEST(BadDataset, AFieldOfAnotherTypeIsNamed) {
  Session session;
  const std::string file = session.write("d.jsonl", "{\"output\":\"a\"}\n{\"output\":5}\n");
  expect_refused(session, words_with({{"--dataset", file}}), {"d.jsonl:2", "output"});
}

struct BadFolder {
  std::string name;
  std::function<void(const std::filesystem::path&)> damage;
  std::vector<std::string> parts;
};

class BadModel : public testing::TestWithParam<BadFolder> {};

TEST_P(BadModel, IsOneClearLine) {
  Session session;
  make_model_folder(session.folder() / "m");
  GetParam().damage(session.folder() / "m");
  expect_refused(session, words_with({{"--model", "./m"}}), GetParam().parts);
}

void edit_config(const std::filesystem::path& folder, const std::string& key, const Json& value) {
  Json config = Json::parse(read_file(folder / "config.json"), "config.json");
  config.set(key, value);
  write_file_atomically(folder / "config.json", config.dump());
}

INSTANTIATE_TEST_SUITE_P(
    Run, BadModel,
    testing::Values(
        BadFolder{"NoWeights",
                  [](const auto& folder) { std::filesystem::remove(folder / "model.safetensors"); },
                  {"model.safetensors"}},
        BadFolder{"CutOffWeights",
                  [](const auto& folder) {
                    std::filesystem::resize_file(
                        folder / "model.safetensors",
                        std::filesystem::file_size(folder / "model.safetensors") - 100);
                  },
                  {"model.safetensors"}},
        BadFolder{"LfsPointer",
                  [](const auto& folder) {
                    write_file_atomically(folder / "model.safetensors",
                                          "version https://git-lfs.github.com/spec/v1\n"
                                          "oid sha256:00\nsize 4976698672\n");
                  },
                  {"model.safetensors", "LFS"}},
        BadFolder{"NoTokenizer",
                  [](const auto& folder) { std::filesystem::remove(folder / "tokenizer.json"); },
                  {"tokenizer.json"}},
        BadFolder{"TokenizerOfAnotherModel",
                  [](const auto& folder) {
                    Json tokenizer =
                        Json::parse(read_file(folder / "tokenizer.json"), "tokenizer.json");
                    Json model = tokenizer.at("model");
                    Json vocabulary = model.at("vocab");
                    vocabulary.set("far", 99999);
                    model.set("vocab", vocabulary);
                    tokenizer.set("model", model);
                    write_file_atomically(folder / "tokenizer.json", tokenizer.dump());
                  },
                  {"tokenizer.json", "99999", "does not match the model"}},
        BadFolder{"NoConfig",
                  [](const auto& folder) { std::filesystem::remove(folder / "config.json"); },
                  {"config.json"}},
        BadFolder{"WrongShape",
                  [](const auto& folder) { edit_config(folder, "intermediate_size", 1000); },
                  {"mlp", "1000"}},
        BadFolder{"ImpossibleSize",
                  [](const auto& folder) { edit_config(folder, "num_hidden_layers", -1); },
                  {"config.json", "num_hidden_layers", "-1"}},
        BadFolder{
            "HugeSize",
            [](const auto& folder) { edit_config(folder, "vocab_size", std::int64_t{1} << 50); },
            {"config.json", "vocab_size"}},
        BadFolder{"UnknownRope",
                  [](const auto& folder) {
                    edit_config(folder, "rope_scaling", Json::object({{"rope_type", "nonsense"}}));
                  },
                  {"config.json", "nonsense"}}),
    [](const auto& bad) { return bad.param.name; });

TEST(BadStore, AFileThatIsNoStore) {
  Session session;
  const std::string file = session.write("notes.txt", std::string(5000, 'x'));
  expect_refused(session, words_with({{"--store", file}}), {"notes.txt"});
  EXPECT_EQ(read_file(file), std::string(5000, 'x')) << "it is left as it was";
}

TEST(BadStore, AFolderThatCannotBeMade) {
  Session session;
  const std::string file = session.write("file", "x");
  expect_refused(session, words_with({{"--store", file + "/sub/store.db"}}), {"/sub"});
}

TEST(BadStore, ANewerSchema) {
  Session session;
  ASSERT_EQ(session.run(words_with({})).exit.code, 0);
  // user_version lies at byte 60 of the file, four bytes, big-endian (sqlite.org/fileformat2.html).
  std::string bytes = read_file(session.store());
  ASSERT_GT(bytes.size(), 64U);
  bytes[60] = '\x00';
  bytes[61] = '\x01';
  write_file_atomically(session.store(), bytes);
  const Said said = session.run(words_with({{"--batch", "2"}}));
  EXPECT_EQ(said.exit.code, 1);
  EXPECT_THAT(said.err, HasSubstr("store.db"));
  EXPECT_THAT(said.err, HasSubstr("newer"));
  EXPECT_EQ(read_file(session.store()), bytes) << "it is left as it was";
}

}  // namespace
}  // namespace tunebench::integration
