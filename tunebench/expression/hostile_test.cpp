#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/expression/expression.h"
#include "tunebench/expression/internal/row_query.h"

namespace tunebench::expression {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kNames = {"a", "b", "text"};

class Hostile : public testing::TestWithParam<std::string> {};

TEST_P(Hostile, IsNoExpression) {
  Diagnostics diagnostics;
  EXPECT_FALSE(Expression::compile(GetParam(), kNames, "--where", diagnostics));
  ASSERT_FALSE(diagnostics.empty());
  for (const Diagnostic& diagnostic : diagnostics) {
    EXPECT_LT(diagnostic.line().size(), 400U);
    EXPECT_EQ(diagnostic.line().find('\n'), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sql, Hostile,
    testing::Values("1) from sqlite_master; --", "1) from sqlite_master --",
                    "1; drop table records", "(select 1)", "a in (select name from sqlite_master)",
                    "exists (select 1)", "a in records", "a in pragma_table_info('x')",
                    "1 union select 2", "a from b", "a, b", "(a, b) == (1, 2)", "*", "a.*",
                    "main.a", "[a]", "`a`", "?", "?1", ":a", "@a", "$a", "#1", "a collate nocase",
                    "a collate bomb", "cast(a as text)", "case when a then b end", "a --comment",
                    "a /* b */", "a glob '*'", "text match 'x'", "text regexp 'x'", "x'00ff'",
                    "a -> '$.x'", "a ->> 'x'", "a like 'x' escape 'y'", "a isnull", "a notnull",
                    "current_timestamp", "raise(ignore)", "count(*)", "sum(a) over ()",
                    "max(distinct a, b)", "rowid", "a\\", "a;", "1 = 1;"));

INSTANTIATE_TEST_SUITE_P(
    Functions, Hostile,
    testing::Values("load_extension('x')", "randomblob(1000000000)", "zeroblob(1000000000)",
                    "printf('%1000000000d', 1)", "format('%1000000000d', 1)",
                    "replace(text, '', text)", "hex(text)", "quote(text)", "random()", "char(1)",
                    "group_concat(text)", "readfile('/etc/passwd')", "writefile('x', 'y')",
                    "edit('x')", "sqlite_version()", "fts3_tokenizer('x')", "last_insert_rowid()",
                    "changes()", "date('now')", "strftime('%s', 'now')", "likelihood(a, 0.5)",
                    "json_extract(text, '$')", "eval('select 1')", "max(a)", "min(a)", "total(a)"));

INSTANTIATE_TEST_SUITE_P(Size, Hostile,
                         testing::Values(std::string(20000, '1'), std::string(60, '(') + "a",
                                         std::string(60, '(') + "a" + std::string(60, ')'),
                                         std::string(9000, '-'), std::string(5000, '('),
                                         "a == '" + std::string(9000, 'x')));

std::string repeated(std::string_view piece, int count, std::string_view last) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += piece;
  }
  return text + std::string(last);
}

INSTANTIATE_TEST_SUITE_P(Depth, Hostile,
                         testing::Values(repeated("- ", 100, "a"), repeated("not ", 100, "a"),
                                         repeated("a or ", 1500, "a"),
                                         repeated("abs(", 80, "a") + std::string(80, ')'),
                                         repeated("a or a and not a == a + a * - (", 45, "a") +
                                             std::string(45, ')')));

TEST(Bounds, LongConditionsWithinTheBoundsWork) {
  Diagnostics diagnostics;
  const std::string text = repeated("a or ", 900, "b == 3");
  const std::optional<Expression> expression =
      Expression::compile(text, kNames, "--where", diagnostics);
  ASSERT_TRUE(expression) << diagnostics.at(0).line();
  EXPECT_TRUE(expression->holds(std::vector<Json>{0, 3}));
  const std::string list = "a in (" + repeated("1, ", 3000, "7)");
  const std::optional<Expression> in = Expression::compile(list, kNames, "--where", diagnostics);
  ASSERT_TRUE(in) << diagnostics.at(0).line();
  EXPECT_TRUE(in->holds(std::vector<Json>{7}));
}

TEST(Bounds, APatternOrValueThatCostsTooMuchIsRefused) {
  Diagnostics diagnostics;
  const std::optional<Expression> expression =
      Expression::compile("text like '" + repeated("%a", 150, "") + "'", kNames, "", diagnostics);
  ASSERT_TRUE(expression);
  try {
    static_cast<void>(expression->holds(std::vector<Json>{"aaaa"}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    EXPECT_THAT(error.message(), HasSubstr("expression 'text like '%a%a"));
    EXPECT_THAT(error.message(), HasSubstr("pattern too complex"));
  }
  const std::optional<Expression> equal =
      Expression::compile("text == 'x'", kNames, "", diagnostics);
  EXPECT_THROW(static_cast<void>(equal->holds(std::vector<Json>{std::string(200000, 'x')})), Error);
  // And works again with the next row.
  EXPECT_TRUE(equal->holds(std::vector<Json>{"x"}));
}

TEST(Bounds, TheWorstPatternEnds) {
  Diagnostics diagnostics;
  for (const std::string& pattern :
       {repeated("%a_", 66, "b"), repeated("%aa", 66, "b"), "%" + std::string(190, 'a') + "b"}) {
    const std::optional<Expression> expression =
        Expression::compile("text like '" + pattern + "'", kNames, "", diagnostics);
    ASSERT_TRUE(expression);
    EXPECT_FALSE(expression->holds(std::vector<Json>{std::string(100000, 'a')}));
  }
}

TEST(Bounds, AnOverflowOfAFunctionNamesTheExpression) {
  Diagnostics diagnostics;
  const std::optional<Expression> expression =
      Expression::compile("abs(a) > 1", kNames, "", diagnostics);
  ASSERT_TRUE(expression);
  try {
    static_cast<void>(
        expression->holds(std::vector<Json>{std::numeric_limits<std::int64_t>::min()}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "expression 'abs(a) > 1': integer overflow");
  }
}

// The second wall, should the first let something through.
TEST(Authorizer, DeniesWhateverIsNoFunctionOfExpressions) {
  for (const char* sql :
       {"name FROM sqlite_master", "(SELECT name FROM sqlite_master)", "random()",
        "load_extension('x')", "randomblob(10)", "printf('x')", "replace('a', 'b', 'c')",
        "count(*)", "1 FROM pragma_database_list", "1; SELECT 2", "1 UNION SELECT 2",
        "1 FROM json_each('[1]')", "sqlite_version()"}) {
    EXPECT_THROW(RowQuery{sql}, Error) << sql;
  }
  EXPECT_NO_THROW(RowQuery{"abs(1)"});
}

/// Whatever the text: mistakes or an expression, and then a value or an Error.
void try_text(const std::string& text) {
  Diagnostics diagnostics;
  const std::optional<Expression> expression =
      Expression::compile(text, kNames, "--where", diagnostics);
  ASSERT_NE(expression.has_value(), !diagnostics.empty()) << text;
  if (!expression) {
    return;
  }
  std::vector<Json> values;
  for (const std::string& name : expression->used()) {
    values.emplace_back(name == "text" ? Json("tiny") : Json(3));
  }
  try {
    static_cast<void>(expression->value(values));
  } catch (const Error& error) {
    ASSERT_EQ(error.code(), ErrorCode::InvalidInput) << text;
  }
}

TEST(Random, BytesDoNoHarm) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same texts each time
  for (int i = 0; i < 20000; ++i) {
    std::string text(random() % 40, ' ');
    for (char& c : text) {
      c = static_cast<char>(i % 2 == 0 ? random() % 256 : 32 + random() % 95);
    }
    ASSERT_NO_FATAL_FAILURE(try_text(text));
  }
}

TEST(Random, TokensInAnyOrderDoNoHarm) {
  const std::vector<std::string> tokens = {
      "a",   "b",   "text", "1",   "2.5",    "'x'",     "\"y\"",   "null", "true",
      "and", "or",  "not",  "in",  "like",   "between", "is",      "==",   "!=",
      "<",   ">=",  "+",    "-",   "*",      "/",       "%",       "(",    ")",
      ",",   "abs", "min",  "iif", "substr", "round",   "coalesce"};
  std::mt19937 random(2);  // NOLINT(cert-msc51-cpp): the same texts each time
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    for (std::size_t length = random() % 14; length > 0; --length) {
      text += tokens[random() % tokens.size()] + " ";
    }
    ASSERT_NO_FATAL_FAILURE(try_text(text));
  }
}

/// Only well-formed texts, so that each reaches SQLite.
std::string random_value(std::mt19937& random, int depth) {
  static const std::vector<std::string> atoms = {"a",   "b",   "text", "1",
                                                 "2.5", "'x'", "null", "true"};
  static const std::vector<std::string> operators = {" + ", " - ", " * ", " / ", " % "};
  static const std::vector<std::string> comparisons = {" == ", " != ", " like "};
  if (depth == 0) {
    return atoms[random() % atoms.size()];
  }
  const std::string left = random_value(random, depth - 1);
  const std::string right = random_value(random, depth - 1);
  switch (random() % 7) {
    case 0:
      return "(" + left + comparisons[random() % 3] + right + ")";
    case 1:
      return "(not " + left + " and " + right + ")";
    case 2:
      return "(" + left + " in (" + right + ", 1))";
    case 3:
      return "coalesce(" + left + ", " + right + ")";
    case 4:
      return "(- " + left + ")";
    case 5:
      return "(" + left + " between 1 and " + right + ")";
    default:
      return "(" + left + operators[random() % 5] + right + ")";
  }
}

TEST(Random, WellFormedTextsAreTakenBySqlite) {
  std::mt19937 random(3);  // NOLINT(cert-msc51-cpp): the same texts each time
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_value(random, 4);
    std::vector<Mistake> mistakes;
    ASSERT_TRUE(Expression::compile(text, kNames, mistakes)) << text << ": " << mistakes[0].text;
    ASSERT_NO_FATAL_FAILURE(try_text(text));
  }
}

}  // namespace
}  // namespace tunebench::expression
