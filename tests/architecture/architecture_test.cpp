#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/architecture/rules.h"
#include "tunebench/base/files.h"

namespace tunebench::architecture {
namespace {

using testing::IsEmpty;

/// The repository that this test was built from.
class ArchitectureTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root() / "tunebench")) {
      const std::string extension = entry.path().extension();
      if (extension == ".h" || extension == ".cpp" || extension == ".cu") {
        files().push_back(
            parse_source(std::filesystem::relative(entry.path(), root() / "tunebench").string(),
                         read_file(entry.path())));
      }
    }
    std::sort(files().begin(), files().end(),
              [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  }
  static void TearDownTestSuite() { files().clear(); }

  static std::filesystem::path root() { return TB_REPOSITORY; }
  static std::vector<SourceFile>& files() {
    static std::vector<SourceFile> the_files;
    return the_files;
  }
  static std::vector<Layer> layers() { return parse_layers(read_file(root() / "ARCHITECTURE.md")); }
};

TEST_F(ArchitectureTest, TheLayerTableHasNoCycle) {
  EXPECT_THAT(check_table_order(layers()), IsEmpty());
}

TEST_F(ArchitectureTest, EachFolderHasItsRowAndEachRowItsFolder) {
  EXPECT_THAT(check_rows(layers(), files()), IsEmpty());
}

TEST_F(ArchitectureTest, EachFileIncludesOnlyWhatItsRowSays) {
  EXPECT_THAT(check_layers(layers(), files()), IsEmpty());
}

TEST_F(ArchitectureTest, OutsideLibrariesStayWhereTheyAreKept) {
  EXPECT_THAT(
      check_libraries(parse_libraries(read_file(root() / "docs" / "dependencies.md")), files()),
      IsEmpty());
}

TEST_F(ArchitectureTest, NoFileIsTooLong) {
  EXPECT_THAT(check_lengths(files(), 500), IsEmpty());
}

}  // namespace
}  // namespace tunebench::architecture
