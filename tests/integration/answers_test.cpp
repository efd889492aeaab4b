// What a user asks of stored measurements: compare, gates, pareto, best, which rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// Two runs of four points each by the simulated trainer, B with another time per token.
class Answers : public testing::Test {
 protected:
  void measure(const std::string& per_token, const std::string& seed) {
    const std::string model =
        session_.write("model.json", R"({"time_scale":0,"seed":)" + seed +
                                         R"(,"step":{"base_s":0.1,"per_token_s":)" + per_token +
                                         R"(,"run_noise":{"sd":0.002}},
                              "memory":{"base_bytes":1073741824,"per_token_bytes":16777216}})");
    const Said said = session_.run({"run", "-m", "tiny", "-l", "32,64", "-b", "1,2", "--trainer",
                                    "simulated", "--simulation", model, "--repeats", "5"});
    ASSERT_EQ(said.exit.code, 0) << said.err;
  }

  Said ask(std::vector<std::string> words) {
    words.emplace_back("--simulated");
    return session_.run(words);
  }

  std::string name_of(const std::string& run) {
    const Said said = ask({"show", run, "--json"});
    return Json::parse(said.out, "show").at("run").as_string();
  }

  Session session_;
};

TEST_F(Answers, ComparesTwoRunsAndGates) {
  measure("0.01", "1");
  measure("0.0105", "2");
  const std::string a = name_of("@last~1");
  const std::string b = name_of("@last");
  const Said said = ask({"compare", a, "@last"});
  EXPECT_EQ(said.exit.code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("A " + a + " (now)   B " + b +
                                  " (now)   same inputs: 4 of 4\nenvironment differs: trainer "));
  EXPECT_THAT(said.out, HasSubstr("length  batch  A tok/s  B tok/s    B/A  95% CI"));
  EXPECT_THAT(said.out, ContainsRegex("    64      2 .* 0\\.9[56][0-9]  \\[0.*  5/5  slower\n"));
  EXPECT_THAT(said.out, HasSubstr("4 slower, 0 faster, 0 same\n"));

  const Said passed = ask({"compare", a, b, "--fail-if", "tokens_per_s < -20%"});
  EXPECT_EQ(passed.exit.code, 0);
  EXPECT_THAT(passed.out, HasSubstr(" · gate -20%: passed\n"));
  const Said failed = ask({"compare", a, b, "--fail-if", "tokens_per_s < -1%", "--fail-if",
                           "peak_mem_gib > 5%", "--top", "1", "--sort", "-length,ratio"});
  EXPECT_EQ(failed.exit.code, 4);
  EXPECT_THAT(failed.out, HasSubstr("(1 of 4 rows shown) geomean 0.9"));
  EXPECT_THAT(failed.out,
              HasSubstr(" · gate -1%: FAILED (exit 4) · gate peak_mem_gib > 5%: passed\n"));
  EXPECT_THAT(failed.out, HasSubstr("gate tokens_per_s < -1% failed: length=32 batch=1: -"));
}

TEST_F(Answers, APlanComparesItsOwnRun) {
  measure("0.01", "1");
  ASSERT_EQ(session_.run({"baseline", "set", "main", "@last"}).exit.code, 0);
  session_.write("model.json",
                 R"({"time_scale":0,"seed":2,"step":{"base_s":0.1,"per_token_s":0.0105}})");
  const auto plan = [&](const std::string& name, const std::string& more) {
    return session_.write(name,
                          "inputs:\n  model_name: tiny\n  model_max_length: [32, 64]\n  "
                          "batch_size: [1, 2]\n  trainer: simulated\n"
                          "simulation: model.json\nrepeats: 5\n" +
                              more);
  };
  const Said failed =
      session_.run({"run", plan("a.yaml", "compare: main\nfail_if: tokens_per_s < -1%\n")});
  EXPECT_EQ(failed.exit.code, 4) << failed.err;
  EXPECT_THAT(failed.out,
              HasSubstr("simulated: numbers of a model, nothing was measured\nA baseline main ("));
  EXPECT_THAT(failed.out, HasSubstr("gate -1%: FAILED (exit 4)"));

  // @last is the run before this one, and what was reused is compared as well.
  const Said passed =
      session_.run({"run",
                    plan("b.yaml",
                         "compare: {baseline: \"@last\", by: [model_max_length, batch_size]}\n"
                         "fail_if: [tokens_per_s < -1%]\n"),
                    "--json"});
  EXPECT_EQ(passed.exit.code, 0) << passed.err;
  const Json compared = Json::parse(passed.out, "run").at("compared");
  EXPECT_EQ(compared.at("points").as_array().size(), 4U);

  const Said unknown = session_.run({"run", plan("c.yaml", "compare: mian\n")});
  EXPECT_EQ(unknown.exit.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("c.yaml:8:10: "));
  EXPECT_THAT(unknown.err, HasSubstr("mian"));
}

TEST_F(Answers, AnUncertainGateWarnsAndIsStrictWhenAsked) {
  measure("0.01", "1");
  measure("0.01", "2");
  // Each interval holds the change that was measured.
  const Said json = ask({"compare", "@last~1", "--json", "--where", "length == 64 and batch == 2"});
  const double ratio =
      Json::parse(json.out, "compare").at("points").as_array()[0].at("ratio").as_double();
  const std::string gate = "tokens_per_s < " + std::to_string(100 * (ratio - 1)) + "%";
  const std::vector<std::string> words{
      "compare", "@last~1", "--where", "length == 64 and batch == 2", "--fail-if", gate};
  const Said lenient = ask(words);
  EXPECT_EQ(lenient.exit.code, 0);
  EXPECT_THAT(lenient.err, HasSubstr("warning: gate " + gate + " is uncertain: more repeats"));
  std::vector<std::string> strict = words;
  strict.emplace_back("--strict");
  EXPECT_EQ(ask(strict).exit.code, 4);
}

TEST_F(Answers, ComparesWithABaseline) {
  measure("0.01", "1");
  const std::string a = name_of("@last");
  const Said set = session_.run({"baseline", "set", "main"});
  EXPECT_EQ(set.exit.code, 0) << set.err;
  EXPECT_THAT(set.out, HasSubstr("baseline main is " + a));
  measure("0.0105", "2");
  const Said said = ask({"compare", "--baseline", "main", "--fail-if", "tokens_per_s < -1%"});
  EXPECT_EQ(said.exit.code, 4) << said.err;
  EXPECT_THAT(said.out, HasSubstr("A baseline main (" + a + ") (now)   B " + name_of("@last")));
  EXPECT_THAT(session_.run({"baseline"}).out, HasSubstr("main      " + a));
  EXPECT_THAT(ask({"compare", "--baseline", "mian"}).err, HasSubstr("'main'"));
  EXPECT_THAT(ask({"compare", "--baseline", "main", "a", "b"}).err,
              HasSubstr("--baseline: is A, so there is one run to name: B"));
}

TEST_F(Answers, JunitIsReadByAnXmlParser) {
  measure("0.01", "1");
  measure("0.0105", "2");
  const std::string file = (session_.folder() / "gates.xml").string();
  EXPECT_EQ(
      ask({"compare", "@last~1", "--fail-if", "tokens_per_s < -1%", "--junit", file}).exit.code, 4);
  ChildSpec spec;
  spec.argv = {"python3", "-c",
               "import sys, xml.etree.ElementTree as e\n"
               "root = e.parse(sys.argv[1]).getroot()\n"
               "cases = root.findall('testsuite/testcase')\n"
               "sys.exit(0 if root.get('failures') == '4' and len(cases) == 4 and\n"
               "  cases[0].get('classname') == 'tokens_per_s < -1%' and\n"
               "  cases[0].find('failure').get('message').startswith('-') else 1)",
               file};
  Child child = Child::start(spec);
  const std::optional<ExitStatus> exit = child.wait_for(std::chrono::seconds(60));
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 0);
}

TEST_F(Answers, ParetoAndBest) {
  measure("0.01", "1");
  const Said pareto = ask({"pareto", "@last", "--max", "tokens_per_s", "--min", "peak_mem_gib"});
  EXPECT_EQ(pareto.exit.code, 0) << pareto.err;
  EXPECT_THAT(pareto.out, HasSubstr(": max tokens_per_s, min peak_mem_gib\n"
                                    "length  batch  tokens_per_s  peak_mem_gib  front\n"));
  EXPECT_THAT(pareto.out, HasSubstr(" points on the front\n"));
  const Said best = ask({"best"});
  EXPECT_THAT(best.out, HasSubstr("best tokens_per_s: length=64 batch=2 ("));
  const Said groups = ask({"best", "--group-by", "length", "--min", "peak_mem_gib", "--json"});
  const Json json = Json::parse(groups.out, "best");
  ASSERT_EQ(json.at("groups").as_array().size(), 2U);
  EXPECT_EQ(json.at("groups").as_array()[1].at("group").at("length").as_int(), 64);
  EXPECT_EQ(json.at("groups").as_array()[1].at("best").at("inputs").at("batch_size").as_int(), 1);
}

TEST_F(Answers, WhereSortTopAndGroupByChooseRows) {
  measure("0.01", "1");
  const Said shown = ask({"show", "--where", "batch == 2", "--sort", "-tokens_per_s"});
  EXPECT_THAT(shown.out, ContainsRegex("\n    64 .*\n    32 .*\n"));
  EXPECT_THAT(shown.out, HasSubstr("2 of 4 points shown\n"));
  const Said top = ask({"export", "--json", "--aggregate", "--sort", "-tokens_per_s", "--top", "1",
                        "--group-by", "length"});
  const Json rows = Json::parse(top.out, "export");
  ASSERT_EQ(rows.as_array().size(), 2U);
  EXPECT_EQ(rows.as_array()[0].at("model_max_length").as_int(), 64);
  EXPECT_EQ(rows.as_array()[1].at("batch_size").as_int(), 2);
  const Said attempts = ask({"export", "--json", "--where", "repeat > 3 and model == \"tiny\""});
  EXPECT_EQ(Json::parse(attempts.out, "export").as_array().size(), 8U);
  const Said runs = ask({"runs", "--json", "--where", "measured > 100"});
  EXPECT_TRUE(Json::parse(runs.out, "runs").as_array().empty());
}

TEST_F(Answers, ExportsSqlParquetAndTheColumnsOfTheReferenceSystem) {
  measure("0.01", "1");
  const Said sql = ask({"export", "--format", "sql"});
  EXPECT_THAT(sql.out,
              HasSubstr("CREATE TABLE IF NOT EXISTS \"measurements\" (\n  \"run\" TEXT,\n"));
  const Said ado =
      ask({"export", "--format", "ado-csv", "--where", "batch == 2", "--sort", "length"});
  EXPECT_THAT(ado.out,
              ContainsRegex("^,identifier,generatorid,experiment_id,model_name,number_gpus,"
                            "model_max_length,batch_size,gpu_compute_utilization_min,"));
  EXPECT_THAT(ado.out,
              HasSubstr("\n1,model_name.tiny-number_gpus.0-model_max_length.64-batch_size.2,"
                        "explicit_grid_sample_generator,"));
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--aggregate"}}) {
    const std::string file = (session_.folder() / "out.parquet").string();
    std::vector<std::string> words{"export", "-o", file};
    words.insert(words.end(), more.begin(), more.end());
    const Said parquet = ask(words);
    if (parquet.exit.code == 0) {
      const std::string bytes = read_file(file);
      EXPECT_TRUE(bytes.starts_with("PAR1") && bytes.ends_with("PAR1"));
    } else {
      EXPECT_EQ(parquet.exit.code, 1);
      EXPECT_THAT(parquet.err, HasSubstr("tunebench: this build has no Parquet, which is optional: "
                                         "run tools/fetch-arrow"));
      EXPECT_FALSE(std::filesystem::exists(file));
    }
  }
}

TEST_F(Answers, MistakesComeAllAtOnceBeforeAnyOutput) {
  const Said compare =
      session_.run({"compare", "a", "b", "--metric", "token_per_s", "--by", "bacth", "--fail-if",
                    "tokens_per_s < 3", "--where", "modle == 1", "--format", "xml", "--top", "0"});
  EXPECT_EQ(compare.exit.code, 1);
  EXPECT_EQ(compare.out, "");
  for (const char* line : {"--metric: unknown metric 'token_per_s' - did you mean 'tokens_per_s'?",
                           "--by: unknown input 'bacth' - did you mean 'batch'?",
                           "--fail-if: '3' is no change in percent",
                           "--where: unknown name 'modle' at column 1 - did you mean 'model'?",
                           "--format: 'xml' is none of text, md, json",
                           "--top: '0' is not a whole number", "6 mistakes"}) {
    EXPECT_THAT(compare.err, HasSubstr(line));
  }
  const Said show = session_.run({"show", "--where", "tokens_per_s >", "--sort", "-bach"});
  EXPECT_EQ(show.exit.code, 1);
  EXPECT_THAT(show.err, HasSubstr("--where: expected a name or a value, found the end"));
  EXPECT_THAT(show.err,
              HasSubstr("--sort: unknown name 'bach' at column 1 - did you mean 'batch'"));
  const Said pareto =
      session_.run({"pareto", "--max", "tokens_per_second", "--min", "step_s", "--max", "step_s"});
  EXPECT_THAT(pareto.err, HasSubstr("--min: 'step_s' is given twice"));
  EXPECT_THAT(session_.run({"pareto"}).err, HasSubstr("give --max METRIC, --min METRIC"));
  EXPECT_THAT(session_.run({"compare"}).err, HasSubstr("A is missing - a run to compare with"));
}

}  // namespace
}  // namespace tunebench::integration
