// docs/metrics.md ends with the table of fields. With TB_UPDATE_DOCS set, the test writes it.
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/record/record.h"

namespace tunebench::record {
namespace {

constexpr std::string_view kHead = "| field | unit | better | meaning |\n|---|---|---|---|\n";

std::string_view better_text(Better better) {
  switch (better) {
    case Better::Higher:
      return "higher";
    case Better::Lower:
      return "lower";
    case Better::Neither:
      break;
  }
  return "";
}

std::string table() {
  std::string text(kHead);
  for (const Field& field : fields()) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", field.name, field.unit,
                        better_text(field.better), field.meaning);
  }
  return text;
}

TEST(MetricsDocument, HoldsTheTableOfFields) {
  const std::filesystem::path file = std::filesystem::path(TB_SOURCE_FOLDER) / "docs/metrics.md";
  const std::string document = read_file(file);
  const std::size_t begin = document.find(kHead);
  ASSERT_NE(begin, std::string::npos) << "docs/metrics.md has no table of fields";
  if (std::getenv("TB_UPDATE_DOCS") != nullptr) {
    write_file_atomically(file, document.substr(0, begin) + table());
    return;
  }
  EXPECT_EQ(document.substr(begin), table()) << "TB_UPDATE_DOCS=1 build/release/tb_record_tests "
                                                "--gtest_filter=MetricsDocument.* writes it";
}

}  // namespace
}  // namespace tunebench::record
