#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/subprocess.h"

namespace tunebench::hub_tests {

/// tests/hub/hub_server.py in a folder of its own, until the object goes.
class HubServer {
 public:
  /// `tls`: HTTPS with a certificate that nobody knows but certificate().
  explicit HubServer(bool tls = false);

  /// "http://127.0.0.1:PORT"
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::filesystem::path certificate() const { return folder_.path() / "cert.pem"; }

  /// Adds a file to a model.
  void put(const std::string& model, const std::string& name, const std::string& content) const;
  /// A small Llama with tokenizer and model card.
  void put_model(const std::string& model) const;
  /// The same in two shards with an index.
  void put_sharded_model(const std::string& model) const;
  [[nodiscard]] std::filesystem::path model_folder(const std::string& model) const {
    return folder_.path() / "models" / model;
  }

  /// What goes wrong from now on: see hub_server.py. Once for each server.
  void play(const Json& faults) const;

  /// The requests so far: at, method, path, range, token.
  [[nodiscard]] std::vector<Json> requests() const;
  /// Those whose path holds the text.
  [[nodiscard]] std::vector<Json> requests(const std::string& part) const;

 private:
  TemporaryFolder folder_;
  std::string scheme_;
  Json ports_;
  Child child_;
};

}  // namespace tunebench::hub_tests
