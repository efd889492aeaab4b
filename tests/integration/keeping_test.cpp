// Names, housekeeping, bundles and imports, as a user meets them.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::filesystem::path kAdoStores = TB_ADO_STORES;

/// A session with one finished run of two measurements.
class KeptSession : public Session {
 public:
  KeptSession() { measure("1,2"); }
  /// The name of the new run.
  std::string measure(const std::string& batch) {
    EXPECT_EQ(run({"run", "-m", "tiny", "-l", "32", "-b", batch, "-g", "0", "--max-steps", "3",
                   "--repeats", "1"})
                  .exit.code,
              0);
    return runs().front().at("run").as_string();
  }
  Json::Array runs(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"runs", "--json"});
    return Json::parse(run(more).out, "runs").as_array();
  }
};

TEST(Keeping, TagsAreNamesAndTyposGetHints) {
  KeptSession session;
  const std::string name = session.runs()[0].at("run").as_string();
  EXPECT_EQ(session.run({"tag", "@last", "nightly"}).out, name + " is tagged nightly\n");
  EXPECT_THAT(session.run({"runs"}).out, AllOf(HasSubstr("nightly"), HasSubstr("2/2")));
  EXPECT_THAT(session.run({"show", "nightly"}).out, HasSubstr(name));
  EXPECT_THAT(session.run({"show", "nigthly"}).err, HasSubstr("did you mean 'nightly'?"));
  EXPECT_THAT(session.run({"untag", "@last", "nihgtly"}).err,
              HasSubstr("has no tag 'nihgtly' - did you mean 'nightly'?"));
  EXPECT_EQ(session.run({"untag", name.substr(0, name.size() - 1), "nightly", "--json"}).exit.code,
            0);
  EXPECT_THAT(session.run({"runs"}).out, Not(HasSubstr("nightly")));
  EXPECT_THAT(session.run({"models", "imprt"}).err, HasSubstr("did you mean 'import'?"));
  EXPECT_THAT(session.run({"baseline", "lst"}).err, HasSubstr("did you mean 'list'?"));
  EXPECT_EQ(session.run({"baseline", "set", "main", "@last"}).exit.code, 0);
  EXPECT_THAT(session.run({"baseline", "list"}).out, HasSubstr(name));
  EXPECT_THAT(session.run({"baseline", "rm", "mian"}).err, HasSubstr("did you mean 'main'?"));
  EXPECT_EQ(session.run({"baseline", "rm", "main"}).exit.code, 0);
}

TEST(Keeping, TheTrashIsUndoneAndEmptied) {
  KeptSession session;
  const std::string first = session.runs()[0].at("run").as_string();
  const std::string second = session.measure("3");
  EXPECT_EQ(session.run({"rm", "@last", "nobody-here"}).exit.code, 1);
  EXPECT_EQ(session.runs().size(), 2U);
  const Said removed = session.run({"rm", "@last", "@last~1", "@last"});
  EXPECT_THAT(removed.out, AllOf(HasSubstr(second + " is in the trash"), HasSubstr(first)));
  EXPECT_EQ(session.runs().size(), 0U);
  EXPECT_EQ(session.runs({"--all"}).size(), 2U);
  EXPECT_THAT(session.run({"runs", "--all"}).out, HasSubstr("finished, in the trash"));
  EXPECT_EQ(session.run({"undo"}).out, first + " is back\n");
  EXPECT_THAT(session.run({"gc", "--older", "30d"}).out, HasSubstr("removed 0 runs"));
  EXPECT_THAT(session.run({"gc", "--older", "0", "--dry-run"}).out,
              HasSubstr("would remove 1 runs and 1 measurements"));
  EXPECT_THAT(session.run({"gc", "--older", "0"}).out, HasSubstr("removed 1 runs and 1 meas"));
  EXPECT_THAT(session.run({"undo"}).err, HasSubstr("the trash is empty"));
  EXPECT_THAT(session.run({"gc", "--older", "soon"}).err, HasSubstr("'soon' is no time"));
  EXPECT_EQ(session.run({"check"}).out, "all is well\n");
}

TEST(Keeping, ALiveRunIsNotRemoved) {
  Session session;
  const std::string model = session.write("slow.json", R"({"time_scale":1,"step":{"base_s":0.2}})");
  Session::Running running =
      session.start({"run", "-m", "tiny", "-l", "32", "-b", "1,2,4", "--trainer", "simulated",
                     "--simulation", model, "--max-steps", "200"});
  std::string out;
  for (int i = 0; i < 200 && out.find("running") == std::string::npos; ++i) {
    out = session.run({"runs", "--simulated"}).out;
  }
  EXPECT_THAT(out, HasSubstr("running"));
  const Said refused = session.run({"rm", "@last"});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("is running"));
  running.signal(9);
  running.wait();
  const Said dead = session.run({"runs", "--simulated"});
  EXPECT_THAT(dead.out, HasSubstr("interrupted"));
  EXPECT_THAT(dead.err, HasSubstr("was interrupted"));
  EXPECT_EQ(session.run({"rm", "@last"}).exit.code, 0);
}

TEST(Keeping, CheckNamesWhatIsWrong) {
  KeptSession session;
  const std::string bytes = read_file(session.store());
  write_file_atomically(session.folder() / "torn.db", bytes.substr(0, bytes.size() / 2));
  const Said said = session.run({"check", "--store", (session.folder() / "torn.db").string()});
  EXPECT_EQ(said.exit.code, 1);
  EXPECT_NE(said.out + said.err, "");
}

TEST(Keeping, ABundleCarriesRunsToAnotherStore) {
  KeptSession session;
  const std::string bundle = (session.folder() / "all.tar.zst").string();
  EXPECT_THAT(session.run({"export", "--bundle", bundle, "@last"}).out,
              HasSubstr("1 runs, 2 measurements"));
  KeptSession other;
  const Said first = other.run({"import", bundle});
  EXPECT_THAT(first.out, HasSubstr("2 new, 0 known"));
  EXPECT_THAT(other.run({"import", bundle}).out, HasSubstr("0 new, 2 known"));
  EXPECT_THAT(other.run({"runs"}).out, HasSubstr("imported"));
  EXPECT_EQ(other.run({"check"}).exit.code, 0);
  EXPECT_THAT(session.run({"import", bundle}).out, HasSubstr("0 new, 2 known"));
  EXPECT_THAT(session.run({"export", "--bundle", "x.zip"}).err, HasSubstr("NAME.tar.gz"));
  EXPECT_THAT(session.run({"export", "@last", "@last"}).err, HasSubstr("--bundle"));
}

TEST(Keeping, CsvIsImportedWithAMapAndOurOwnWithout) {
  KeptSession session;
  const std::string own = (session.folder() / "own.csv").string();
  EXPECT_EQ(session.run({"export", "-o", own}).exit.code, 0);
  EXPECT_THAT(session.run({"import", own}).out, HasSubstr("0 new, 2 known"));
  Session fresh;
  EXPECT_THAT(fresh.run({"import", own}).out, HasSubstr("2 new"));
  EXPECT_THAT(fresh.run({"show"}).out, HasSubstr("imported"));
  const std::string old = fresh.write("old.csv", "m;n;t\ntiny;1;10\ntiny;two;20\ntiny;3;30\n");
  const std::vector<std::string> words{"import",       old,
                                       "--separator",  ";",
                                       "--map",        "m=model_name,n=batch_size",
                                       "--set",        "number_gpus=0",
                                       "--set",        "model_max_length=32",
                                       "--metric",     "t=dataset_tokens_per_second",
                                       "--experiment", "finetune_full_benchmark"};
  const Said refused = fresh.run(words);
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("old.csv:3: "), HasSubstr("'two'"),
                                 HasSubstr("Nothing was imported")));
  std::vector<std::string> skipping = words;
  skipping.push_back("--skip-bad");
  EXPECT_THAT(fresh.run(skipping).out, HasSubstr("2 new, 0 known, 1 left out"));
  // What another program measured does not stand in a ranking of all runs.
  EXPECT_THAT(fresh.run({"best", "--max", "dataset_tokens_per_second", "--all"}).err,
              HasSubstr("imported measurements are left out"));
  std::vector<std::string> typo = words;
  typo[5] = "m=modle_name,n=batch_size";
  EXPECT_THAT(fresh.run(typo).err, HasSubstr("did you mean 'model_name'?"));
}

TEST(Keeping, AdosStoreItsCsvAndItsYamlHoldTheSame) {
  Session session;
  const std::vector<std::string> map{
      "--map",    "model=model_name,gpus=number_gpus,batch=batch_size",
      "--set",    "model_max_length=512",
      "--metric", "tokens_per_second=dataset_tokens_per_second"};
  const auto import_of = [&](const std::string& file, bool mapped) {
    std::vector<std::string> words{"import", (kAdoStores / file).string()};
    if (mapped) {
      words.insert(words.end(), map.begin(), map.end());
    }
    return session.run(words);
  };
  EXPECT_EQ(import_of("history.db", false).exit.code, 1);
  EXPECT_THAT(import_of("history.db", true).out, HasSubstr("9 new, 0 known"));
  EXPECT_THAT(import_of("history-store-target.csv", true).out, HasSubstr("0 new, 8 known"));
  EXPECT_THAT(import_of("history-store.yaml", true).out, HasSubstr("0 new, 8 known"));
  EXPECT_THAT(import_of("sft.db", false).out, HasSubstr("5 new, 0 known"));
  EXPECT_THAT(session.run({"show"}).out, HasSubstr("batch_size is 3 but number_gpus is 2"));
  EXPECT_THAT(import_of("sft-space.yaml", false).err, HasSubstr("no sample store"));
}

}  // namespace
}  // namespace tunebench::integration
