#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ios>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/data/dataset.h"

namespace tunebench::data::testing_support {

/// Texts given by the test.
class TextDataset final : public Dataset {
 public:
  explicit TextDataset(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(texts_.size());
  }
  [[nodiscard]] std::string text(std::int64_t index) const override {
    return texts_.at(static_cast<std::size_t>(index));
  }
  [[nodiscard]] const std::string& fingerprint() const override { return name_; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::vector<std::string> texts_;
  std::string name_ = "texts";
};

/// The message of the Error that `body` throws, after checking its code.
inline std::string message_of(ErrorCode code, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "no error";
  return "";
}

/// A file in a folder of its own that goes away with the object.
class TestFile {
 public:
  TestFile(std::string_view name, std::string_view content) : path_(folder_.path() / name) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::filesystem::path path_;
};

}  // namespace tunebench::data::testing_support
