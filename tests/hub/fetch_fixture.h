#pragma once

#include <chrono>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "hub_server.h"
#include "tunebench/base/error.h"
#include "tunebench/base/hash.h"
#include "tunebench/hub/fetch.h"

namespace tunebench::hub_tests {

inline constexpr const char* kFetched = "org/small";

/// A hub, and a cache to fetch into.
class FetchTest : public ::testing::Test {
 protected:
  FetchTest() {
    options.cache = folder_.path() / "hub";
    options.endpoint = server.url();
    options.first_pause = std::chrono::milliseconds(10);
    options.at_once = 2;
  }

  hub::FetchResult fetch(const std::string& model = kFetched) {
    hub::FetchProgress progress;
    try {
      hub::FetchResult result = hub::fetch_model(*hub::parse_repo_id(model), options, progress);
      notes = progress.take_notes();
      EXPECT_EQ(progress.bytes_done, progress.bytes);
      EXPECT_EQ(progress.files_done, progress.files);
      return result;
    } catch (...) {
      notes = progress.take_notes();
      throw;
    }
  }

  /// What the failure says.
  std::string failure(const std::string& model = kFetched) {
    try {
      fetch(model);
    } catch (const Error& error) {
      EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
      return error.message();
    }
    ADD_FAILURE() << "it was fetched";
    return "";
  }

  std::filesystem::path blobs(const std::string& model = kFetched) const {
    return options.cache / hub::parse_repo_id(model)->folder_name() / "blobs";
  }
  std::string hash_of(const std::string& name) const {
    return sha256_file_hex(server.model_folder(kFetched) / name);
  }
  std::string weights() const {
    return read_file(server.model_folder(kFetched) / "model.safetensors");
  }

  /// A fault at the place where the weights come from.
  static Json fault(std::initializer_list<Json::Member> members, const char* path = "/cdn/") {
    Json one = Json::object({{"path", path}});
    for (const auto& [name, value] : members) {
      one.set(name, value);
    }
    return Json::array({one});
  }

  HubServer server;
  hub::FetchOptions options;
  std::vector<std::string> notes;

 private:
  TemporaryFolder folder_;
};

}  // namespace tunebench::hub_tests
