// Every input that is kept goes through its target in the ordinary builds.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "targets.h"
#include "tunebench/base/files.h"

namespace tunebench::fuzz {
namespace {

void replay(const std::string& folder, void (*target)(std::string_view)) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(TB_CORPUS) / folder)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  EXPECT_GE(files.size(), 10U);
  for (const std::filesystem::path& file : files) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_NO_THROW(target(read_file(file))) << file;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << file;
  }
}

TEST(Corpus, OfPlansIsReadWithoutACrash) {
  replay("plan", try_plan);
}

TEST(Corpus, OfExpressionsIsReadWithoutACrash) {
  replay("expression", try_expression);
}

}  // namespace
}  // namespace tunebench::fuzz
