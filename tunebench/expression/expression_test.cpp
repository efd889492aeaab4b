#include "tunebench/expression/expression.h"

#include <filesystem>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench::expression {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Row = std::map<std::string, Json>;

const Row& sample_row() {
  static const Row row = {{"model", "tiny"}, {"batch", 4},
                          {"gpus", 8},       {"rate", 5200.5},
                          {"packing", true}, {"reason", nullptr},
                          {"ok", 0},         {"name", "it's \"x\""},
                          {"status", "ok"},  {"list", Json::array({1, 2})}};
  return row;
}

std::vector<std::string> names_of(const Row& row) {
  std::vector<std::string> names;
  for (const auto& [name, value] : row) {
    names.push_back(name);
  }
  return names;
}

Expression compiled(std::string_view text) {
  Diagnostics diagnostics;
  std::optional<Expression> expression =
      Expression::compile(text, names_of(sample_row()), "--where", diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) {
    ADD_FAILURE() << text << ": " << diagnostic.line();
  }
  if (!expression) {
    throw Error(ErrorCode::InvalidInput, "does not compile");
  }
  return std::move(*expression);
}

std::vector<Json> values_for(const Expression& expression) {
  std::vector<Json> values;
  for (const std::string& name : expression.used()) {
    values.push_back(sample_row().at(name));
  }
  return values;
}

Json value_of(std::string_view text) {
  const Expression expression = compiled(text);
  return expression.value(values_for(expression));
}

bool holds(std::string_view text) {
  const Expression expression = compiled(text);
  return expression.holds(values_for(expression));
}

std::vector<std::string> mistakes_in(std::string_view text) {
  Diagnostics diagnostics;
  EXPECT_FALSE(Expression::compile(text, names_of(sample_row()), "--where", diagnostics)) << text;
  std::vector<std::string> lines;
  for (const Diagnostic& diagnostic : diagnostics) {
    lines.push_back(diagnostic.line());
  }
  return lines;
}

struct Case {
  std::string text;
  Json value;
};

void PrintTo(const Case& each, std::ostream* out) {
  *out << each.text << " -> " << each.value.dump();
}

class Value : public testing::TestWithParam<Case> {};

TEST_P(Value, IsWhatTheDocumentSays) {
  const Json found = value_of(GetParam().text);
  EXPECT_EQ(found, GetParam().value) << found.dump();
  EXPECT_EQ(found.kind(), GetParam().value.kind()) << found.dump();
}

INSTANTIATE_TEST_SUITE_P(
    Operators, Value,
    testing::Values(Case{"batch == 4", 1}, Case{"batch = 4", 1}, Case{"batch != 4", 0},
                    Case{"batch <> 5", 1}, Case{"batch >= 4 and gpus < 8", 0},
                    Case{"batch >= 4 or gpus < 8", 1}, Case{"not batch == 4", 0},
                    Case{"NOT batch == 5 AND gpus == 8", 1}, Case{"batch in (1, 2, 4)", 1},
                    Case{"batch not in (1, 2, 4)", 0}, Case{"model like 'TI%'", 1},
                    Case{"model not like 't_ny'", 0},
                    Case{"batch between 4 and 5 and gpus == 8", 1},
                    Case{"batch not between 4 and 5", 0}, Case{"batch * 2 + 1", 9},
                    Case{"-batch - -1", -3}, Case{"2 + 3 * 4", 14}, Case{"(2 + 3) * 4", 20},
                    Case{"rate > 5.2e3", 1}, Case{".5 + 0.25", 0.75}, Case{"true", 1},
                    Case{"FALSE", 0}, Case{"packing", 1}, Case{"packing == true", 1},
                    Case{"list == '[1,2]'", 1}));

INSTANTIATE_TEST_SUITE_P(Division, Value,
                         testing::Values(Case{"gpus / batch", 2.0}, Case{"7 / 2", 3.5},
                                         Case{"gpus / batch == 2", 1}, Case{"2 * 7 / 2 * 2", 14.0},
                                         Case{"8 / 2 / 2", 2.0}, Case{"1 / 0", nullptr},
                                         Case{"1 % 0", nullptr}, Case{"batch % 3", 1},
                                         Case{"floor(7 / 2)", 3.0}, Case{"7.9 % 4", 3.0},
                                         Case{"9223372036854775807 + 1", 9223372036854775808.0}));

INSTANTIATE_TEST_SUITE_P(
    Text, Value,
    testing::Values(Case{"model == 'tiny'", 1}, Case{"model == \"tiny\"", 1},
                    Case{"status == \"model\"", 0},  // a text, though there is such a name
                    Case{"name == 'it''s \"x\"'", 1}, Case{"name == \"it's \"\"x\"\"\"", 1},
                    Case{"model == 'Tiny'", 0}, Case{"batch == '4'", 0},
                    Case{"lower('AbC')", "abc"}, Case{"length('äö')", 2},
                    Case{"substr(model, 2)", "iny"}, Case{"instr(model, 'n')", 3},
                    Case{"'a -- b /* c'", "a -- b /* c"}, Case{"''", ""}, Case{"\"\"", ""}));

INSTANTIATE_TEST_SUITE_P(
    Unknown, Value,
    testing::Values(Case{"reason == null", 1}, Case{"reason = NULL", 1}, Case{"reason != null", 0},
                    Case{"null == reason", 1}, Case{"batch == null", 0}, Case{"batch != null", 1},
                    Case{"reason is null", 1}, Case{"reason is not null", 0},
                    Case{"reason == 'x'", nullptr}, Case{"not reason == 'x'", nullptr},
                    Case{"reason != 'x'", nullptr}, Case{"reason == 'x' or batch == 4", 1},
                    Case{"reason == 'x' and batch == 5", 0}, Case{"reason + 1", nullptr},
                    Case{"coalesce(reason, 'none')", "none"}, Case{"min(batch, reason)", nullptr}));

INSTANTIATE_TEST_SUITE_P(
    Functions, Value,
    testing::Values(Case{"abs(-3)", 3}, Case{"round(2.567, 1)", 2.6}, Case{"round(2.5)", 3.0},
                    Case{"min(batch, gpus, 3)", 3}, Case{"max(batch, gpus)", 8},
                    Case{"iif(batch > 2, 'big', 'small')", "big"}, Case{"ifnull(reason, 7)", 7},
                    Case{"nullif(batch, 4)", nullptr}, Case{"sqrt(16)", 4.0},
                    Case{"pow(2, 3)", 8.0}, Case{"log2(8)", 3.0}, Case{"log10(100)", 2.0},
                    Case{"ln(1)", 0.0}, Case{"exp(0)", 1.0}, Case{"ceil(1.2)", 2.0},
                    Case{"UPPER('a')", "A"}));

TEST(Expression, HoldsOnlyForTrue) {
  EXPECT_TRUE(holds("batch == 4"));
  EXPECT_FALSE(holds("batch == 5"));
  EXPECT_TRUE(holds("batch"));
  EXPECT_TRUE(holds("0.5"));
  EXPECT_FALSE(holds("reason == 'x'"));
  EXPECT_FALSE(holds("not reason == 'x'"));
  EXPECT_FALSE(holds("null"));
}

TEST(Expression, ATextIsNoCondition) {
  try {
    holds("model");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    EXPECT_EQ(error.message(),
              "expression 'model' gives a text, which is neither true nor false; compare it with "
              "something");
  }
}

TEST(Expression, TellsWhatItUsesInOrder) {
  const Expression expression = compiled("gpus > 1 and batch % gpus == 0 and model == 'batch'");
  EXPECT_THAT(expression.used(), ElementsAre("gpus", "batch", "model"));
  EXPECT_EQ(expression.text(), "gpus > 1 and batch % gpus == 0 and model == 'batch'");
}

TEST(Expression, WantsAsManyValuesAsItUses) {
  EXPECT_THROW(static_cast<void>(compiled("batch > 1").holds({})), Error);
}

TEST(Expression, NamesEveryUnknownNameWithTheNearest) {
  EXPECT_THAT(mistakes_in("bacth > 3 and modle == 'x' and zzz"),
              ElementsAre("--where: unknown name 'bacth' at column 1 - did you mean 'batch'?",
                          "--where: unknown name 'modle' at column 15 - did you mean 'model'?",
                          "--where: unknown name 'zzz' at column 32"));
  EXPECT_THAT(mistakes_in("Batch == None"),
              ElementsAre("--where: unknown name 'Batch' at column 1 - did you mean 'batch'?",
                          "--where: unknown name 'None' at column 10 - did you mean 'null'?"));
}

TEST(Expression, CountsColumnsInCharactersAndLines) {
  EXPECT_THAT(mistakes_in("model == 'ä' and x"),
              ElementsAre("--where: unknown name 'x' at column 18"));
  EXPECT_THAT(mistakes_in("batch > 1 and\n  x"),
              ElementsAre("--where: unknown name 'x' at line 2, column 3"));
}

TEST(Expression, OffsetsAreBytes) {
  std::vector<Mistake> mistakes;
  EXPECT_FALSE(Expression::compile("batch > 1 and x", names_of(sample_row()), mistakes));
  ASSERT_EQ(mistakes.size(), 1U);
  EXPECT_EQ(mistakes[0].offset, 14U);
}

struct Refused {
  std::string text;
  std::string message;  ///< after "--where: "
};

void PrintTo(const Refused& each, std::ostream* out) {
  *out << each.text;
}

class Syntax : public testing::TestWithParam<Refused> {};

TEST_P(Syntax, IsRefusedInOneLine) {
  EXPECT_THAT(mistakes_in(GetParam().text), ElementsAre("--where: " + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Slips, Syntax,
    testing::Values(
        Refused{"", "expected a name or a value, found the end at column 1"},
        Refused{"batch >", "expected a name or a value, found the end at column 8"},
        Refused{"batch > > 3", "expected a name or a value, found '>' at column 9"},
        Refused{"(batch > 3", "expected ')', found the end at column 11"},
        Refused{"batch > 3)", "this ')' closes nothing at column 10"},
        Refused{"batch 3", "expected 'and', 'or' or an operator, found '3' at column 7"},
        Refused{"model == 'tiny", "the text that begins with ' does not end at column 10"},
        Refused{"batch == 4k", "'4k' is no number at column 10"},
        Refused{"batch == 1.2.3", "'1.2.3' is no number at column 10"},
        Refused{"batch == 0x10", "'0x10' is no number at column 10"},
        Refused{"1 < batch < 5",
                "a comparison of a comparison at column 11 - write 'a < x and x < b', or use "
                "parentheses"},
        Refused{"batch == 4 in (1)", "'in' of a comparison; use parentheses at column 12"},
        Refused{"batch > null",
                "'>' of null never holds at column 7 - write 'x == null' or 'x != "
                "null'"},
        Refused{"batch && gpus", "'&&' is not part of expressions at column 7 - write 'and'"},
        Refused{"batch || gpus", "'||' is not part of expressions at column 7 - write 'or'"},
        Refused{"!packing", "'!' is not part of expressions at column 1 - write 'not'"},
        Refused{"batch not 4", "expected 'in', 'like' or 'between', found '4' at column 11"},
        Refused{"batch in 4", "expected '(', found '4' at column 10"},
        Refused{"batch in ()", "expected a name or a value, found ')' at column 11"},
        Refused{"batch between 1 or 2", "expected 'and' of 'between', found 'or' at column 17"},
        Refused{"log(batch)", "unknown function 'log' at column 1 - write ln, log2 or log10"},
        Refused{"rond(rate)", "unknown function 'rond' at column 1 - did you mean 'round'?"},
        Refused{"max(batch)", "max takes 2 to 100 values, not 1 at column 1"},
        Refused{"round()", "round takes 1 or 2 values, not 0 at column 1"},
        Refused{"batch == ä", "'ä' is not part of expressions at column 10"}));

INSTANTIATE_TEST_SUITE_P(
    Nulls, Syntax,
    testing::Values(Refused{std::string("batch\0", 6), "holds a zero byte at column 6"},
                    Refused{"batch == '\xff'", "holds bytes that are not UTF-8 at column 11"}));

TEST(Expression, SqlHoldsForATableWithSuchColumns) {
  const Expression expression =
      compiled("gpus / batch == 2 and model == \"tiny\" and reason == null and status != 'x'");
  EXPECT_EQ(expression.sql(),
            "\"gpus\" * 1.0 / \"batch\" = 2 AND \"model\" = 'tiny' AND \"reason\" IS NULL AND "
            "\"status\" <> 'x'");
  EXPECT_EQ(compiled("gpus > 1").sql([](const std::string& name) {
    return "json_extract(body, '$." + name + "')";
  }),
            "json_extract(body, '$.gpus') > 1");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(":memory:", &database), SQLITE_OK);
  const std::string script =
      "CREATE TABLE t (gpus, batch, model, reason, status);"
      "INSERT INTO t VALUES (8, 4, 'tiny', NULL, 'ok'), (8, 3, 'tiny', NULL, 'ok');"
      "CREATE TABLE found AS SELECT * FROM t WHERE " +
      expression.sql() + ";";
  EXPECT_EQ(sqlite3_exec(database, script.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_stmt* count = nullptr;
  sqlite3_prepare_v2(database, "SELECT count(*) FROM found", -1, &count, nullptr);
  ASSERT_EQ(sqlite3_step(count), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_int(count, 0), 1);
  sqlite3_finalize(count);
  sqlite3_close(database);
}

TEST(Expression, TheDocumentListsItsFunctions) {
  const std::string document =
      read_file(std::filesystem::path(TB_SOURCE_FOLDER) / "docs" / "expressions.md");
  EXPECT_THAT(document, HasSubstr("| functions | `" + join(function_names(), " ") + "` |"));
}

TEST(Expression, MovesAndOutlivesItsThread) {
  std::optional<Expression> made;
  std::thread([&] { made.emplace(compiled("batch > 3")); }).join();
  Expression moved = std::move(*made);
  made.reset();
  const std::vector<Json> values = {4};
  EXPECT_TRUE(moved.holds(values));
  moved = compiled("batch > 4");
  EXPECT_FALSE(moved.holds(values));
}

TEST(Expression, ThreadsDoNotMeet) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      const Expression expression = compiled("batch % 4 == " + std::to_string(i));
      int found = 0;
      for (int batch = 0; batch < 2000; ++batch) {
        const std::vector<Json> values = {batch};
        found += expression.holds(values) ? 1 : 0;
      }
      EXPECT_EQ(found, 500);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace tunebench::expression
