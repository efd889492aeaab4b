#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

// The recorded models that tests of whole steps run on.
namespace tunebench::engine {

/// "family/case" of each folder below `root` with recorded values of a model.
inline std::vector<std::string> golden_cases(const std::filesystem::path& root) {
  std::vector<std::string> cases;
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    if (file.path().filename() == "batch.json") {
      cases.push_back(file.path().parent_path().lexically_relative(root).string());
    }
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

}  // namespace tunebench::engine
