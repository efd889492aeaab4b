#include "tests/architecture/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::architecture {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<Layer> kLayers = {
    {"base", {}}, {"stats", {"base"}}, {"engine/ops", {"base"}}, {"report", {"base", "stats"}}};

const std::vector<Library> kLibraries = {{"fmt", {"fmt/"}, {}},
                                         {"SQLite", {"sqlite3.h"}, {"store/sqlite_connection.cpp"}},
                                         {"Highway", {"hwy/"}, {"engine/ops/cpu/"}}};

std::vector<std::string> layer_breaches(const std::string& path, const std::string& text) {
  return check_layers(kLayers, {parse_source(path, text)});
}

std::vector<std::string> library_breaches(const std::string& path, const std::string& text) {
  return check_libraries(kLibraries, {parse_source(path, text)});
}

TEST(ParseSourceTest, ReadsIncludeLinesWithTheirNumbers) {
  const SourceFile file =
      parse_source("base/text.cpp",
                   "#include \"tunebench/base/text.h\"\n\n  #  include <vector>\n// #include\n");
  EXPECT_EQ(file.lines, 4);
  ASSERT_EQ(file.includes.size(), 2U);
  EXPECT_EQ(file.includes[0].name, "tunebench/base/text.h");
  EXPECT_FALSE(file.includes[0].angled);
  EXPECT_EQ(file.includes[1].name, "vector");
  EXPECT_EQ(file.includes[1].line, 3);
  EXPECT_TRUE(file.includes[1].angled);
}

TEST(ParseSourceTest, InternalFilesBelongToTheirFolder) {
  EXPECT_EQ(parse_source("base/internal/x.h", "").folder(), "base");
  EXPECT_EQ(parse_source("engine/ops/cpu/x.cpp", "").folder(), "engine/ops/cpu");
}

TEST(ParseLayersTest, ReadsTheTable) {
  const std::vector<Layer> layers = parse_layers(
      "text\n\n| folder | job | may include |\n|---|---|---|\n"
      "| `base` | errors | \xE2\x80\x93 |\n| `engine/ops` | one, two | base, stats |\n\n"
      "| `other` | table | base |\n");
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].folder, "base");
  EXPECT_THAT(layers[0].may_include, IsEmpty());
  EXPECT_EQ(layers[1].folder, "engine/ops");
  EXPECT_THAT(layers[1].may_include, ElementsAre("base", "stats"));
}

TEST(ParseLayersTest, TextWithoutTheTableIsAnError) {
  EXPECT_THROW(static_cast<void>(parse_layers("# nothing here")), Error);
  EXPECT_THROW(static_cast<void>(parse_libraries("# nothing here")), Error);
}

TEST(ParseLibrariesTest, ReadsTheTable) {
  const std::vector<Library> libraries = parse_libraries(
      "| library | licence | headers | included by |\n|---|---|---|---|\n"
      "| fmt | MIT | `fmt/` | any source |\n| SQLite | none | `sqlite3.h` | `store/a.cpp` |\n");
  ASSERT_EQ(libraries.size(), 2U);
  EXPECT_THAT(libraries[0].homes, IsEmpty());
  EXPECT_THAT(libraries[1].headers, ElementsAre("sqlite3.h"));
  EXPECT_THAT(libraries[1].homes, ElementsAre("store/a.cpp"));
}

TEST(CheckTableTest, ATableThatReadsUpwardsIsKept) {
  EXPECT_THAT(check_table_order(kLayers), IsEmpty());
}

TEST(CheckTableTest, ACycleIsFound) {
  EXPECT_THAT(check_table_order({{"a", {"b"}}, {"b", {"a"}}}),
              ElementsAre("the row of a names b, which stands below it"));
  EXPECT_THAT(check_table_order({{"a", {"a"}}}),
              ElementsAre("the row of a names a, which stands below it"));
}

TEST(CheckTableTest, UnknownAndRepeatedRowsAreFound) {
  EXPECT_THAT(check_table_order({{"a", {"z"}}, {"a", {}}}),
              ElementsAre("the row of a names z, which has no row", "a has two rows"));
}

TEST(CheckRowsTest, FoldersAndRowsMustAgree) {
  EXPECT_THAT(
      check_rows({{"a", {}}, {"b", {}}}, {parse_source("a/x.h", ""), parse_source("c/x.h", "")}),
      ElementsAre("tunebench/c has no row", "the row of b has no sources"));
}

TEST(CheckLayersTest, AnIncludeThatTheRowNamesIsFine) {
  EXPECT_THAT(layer_breaches("report/table.cpp",
                             "#include \"tunebench/report/table.h\"\n"
                             "#include \"tunebench/stats/summary.h\"\n"),
              IsEmpty());
}

TEST(CheckLayersTest, AnIncludeAgainstTheTableIsNamed) {
  EXPECT_THAT(layer_breaches("engine/ops/norm.cpp", "\n#include \"tunebench/stats/summary.h\"\n"),
              ElementsAre("tunebench/engine/ops/norm.cpp:2 includes tunebench/stats/summary.h: "
                          "engine/ops may not use stats"));
}

TEST(CheckLayersTest, ATestMayUseWhatStandsAboveItsRow) {
  const std::string text = "#include \"tunebench/stats/summary.h\"\n";
  EXPECT_THAT(layer_breaches("engine/ops/norm_test.cpp", text), IsEmpty());
  EXPECT_THAT(layer_breaches("base/text_test.cpp", text),
              ElementsAre("tunebench/base/text_test.cpp:1 includes tunebench/stats/summary.h: "
                          "base may not use stats"));
}

TEST(CheckLayersTest, InternalHeadersStayInTheirFolder) {
  const std::string text = "#include \"tunebench/base/internal/cpu_quota.h\"\n";
  EXPECT_THAT(layer_breaches("base/x.cpp", text), IsEmpty());
  EXPECT_THAT(layer_breaches("stats/x.cpp", text),
              ElementsAre("tunebench/stats/x.cpp:1 includes tunebench/base/internal/cpu_quota.h: "
                          "only base may look into its internal/"));
}

TEST(CheckLibrariesTest, StandardAndSystemHeadersAreFree) {
  EXPECT_THAT(library_breaches("base/x.h", "#include <vector>\n#include <sys/types.h>\n"),
              IsEmpty());
}

TEST(CheckLibrariesTest, LibrariesStandInSourcesOnly) {
  EXPECT_THAT(library_breaches("base/x.cpp", "#include <fmt/core.h>\n"), IsEmpty());
  EXPECT_THAT(library_breaches("base/x.h", "#include <fmt/core.h>\n"),
              ElementsAre("tunebench/base/x.h:1 includes fmt/core.h: fmt belongs in sources only"));
  EXPECT_THAT(library_breaches("engine/ops/cpu/lanes_inl.h", "#include <hwy/highway.h>\n"),
              IsEmpty());
}

TEST(CheckLibrariesTest, ALibraryStaysInItsHome) {
  EXPECT_THAT(library_breaches("store/sqlite_connection.cpp", "#include <sqlite3.h>\n"), IsEmpty());
  EXPECT_THAT(library_breaches("report/x.cpp", "#include <sqlite3.h>\n"),
              ElementsAre("tunebench/report/x.cpp:1 includes sqlite3.h: SQLite is kept in "
                          "store/sqlite_connection.cpp"));
}

TEST(CheckLibrariesTest, ALibraryThatNobodyChoseIsFound) {
  EXPECT_THAT(library_breaches("base/x.cpp", "#include <omp.h>\n"),
              ElementsAre("tunebench/base/x.cpp:1 includes omp.h: "
                          "docs/dependencies.md does not list it"));
}

TEST(CheckLengthsTest, ALongFileIsNamed) {
  EXPECT_THAT(check_lengths({parse_source("a/x.cpp", "1\n2\n3\n")}, 3), IsEmpty());
  EXPECT_THAT(check_lengths({parse_source("a/x.cpp", "1\n2\n3\n4\n")}, 3),
              ElementsAre("tunebench/a/x.cpp has 4 lines, more than 3: look for its second job"));
}

}  // namespace
}  // namespace tunebench::architecture
