#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

// The recorded models that tests of whole steps run on.
namespace tunebench::engine {

/// "family/case" of each folder of recorded values of a model.
inline std::vector<std::string> golden_cases() {
  std::vector<std::string> cases;
  const std::filesystem::path root = TB_GOLDEN_FOLDER;
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    if (file.path().filename() == "batch.json") {
      cases.push_back(file.path().parent_path().lexically_relative(root).string());
    }
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

}  // namespace tunebench::engine
