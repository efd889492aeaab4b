#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tunebench::architecture {

/// One #include line.
struct Include {
  int line = 0;
  std::string name;     ///< "tunebench/base/text.h", "vector"
  bool angled = false;  ///< <vector>, not "tunebench/..."
};

/// A C++ file, its path below tunebench/: "engine/nn/mlp.cpp".
struct SourceFile {
  std::string path;
  int lines = 0;
  std::vector<Include> includes;

  /// "engine/nn"; files in a folder's internal/ belong to the folder.
  [[nodiscard]] std::string folder() const;
  [[nodiscard]] bool is_header() const;
  /// A test or a helper of tests by its name: x_test.cpp, test_x.h, testing.h.
  [[nodiscard]] bool is_test() const;
};

/// A row of the layer table in ARCHITECTURE.md.
struct Layer {
  std::string folder;
  std::vector<std::string> may_include;
};

/// A row of the table in docs/dependencies.md.
struct Library {
  std::string name;
  std::vector<std::string> headers;  ///< "fmt/", "sqlite3.h"
  std::vector<std::string> homes;    ///< "base/hash.cpp", "store/"; empty: any source
};

SourceFile parse_source(std::string path, std::string_view text);
/// Errors: InvalidInput when the text has no such table.
std::vector<Layer> parse_layers(std::string_view markdown);
std::vector<Library> parse_libraries(std::string_view markdown);

// Each rule answers with one line for each breach; none means that it is kept.

/// A row names only rows above itself: the table has no cycle, and reads from the bottom up.
std::vector<std::string> check_table_order(const std::vector<Layer>& layers);
/// Folders with sources and rows are the same.
std::vector<std::string> check_rows(const std::vector<Layer>& layers,
                                    const std::vector<SourceFile>& files);
/// A file includes only what its folder's row says. A test may include all folders above its row,
/// and no folder may look into another one's internal/.
std::vector<std::string> check_layers(const std::vector<Layer>& layers,
                                      const std::vector<SourceFile>& files);
/// Outside libraries are included in sources only (or in internal/ and x_inl.h headers, which no
/// other folder sees), each where the table says.
std::vector<std::string> check_libraries(const std::vector<Library>& libraries,
                                         const std::vector<SourceFile>& files);
std::vector<std::string> check_lengths(const std::vector<SourceFile>& files, int longest);

}  // namespace tunebench::architecture
