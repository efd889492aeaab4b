#pragma once

#include <functional>
#include <string>

#include "tunebench/hub/fetch.h"
#include "tunebench/hub/http.h"
#include "tunebench/hub/listing.h"

namespace tunebench::hub {

/// Decides whether a request is made again, and waits before it is.
class Patience {
 public:
  Patience(const FetchOptions& options, FetchProgress& progress, std::string what)
      : options_(options),
        progress_(progress),
        what_(std::move(what)),
        pause_(options.first_pause) {}

  /// Whether to try again after this answer; waits first. `came`: bytes since the last try.
  bool once_more(const HttpAnswer& answer, std::int64_t came);

 private:
  const FetchOptions& options_;
  FetchProgress& progress_;
  std::string what_;
  int tried_ = 1;
  std::chrono::milliseconds pause_;
};

/// Talks with a hub about one model. Not thread-safe: one for each thread.
class HubClient {
 public:
  HubClient(const RepoId& model, const FetchOptions& options, FetchProgress& progress)
      : model_(model), options_(options), progress_(progress) {}

  /// What the hub has under the model's name and revision.
  Listing listing();

  /// One request for a file of that commit from byte `from` on.
  HttpAnswer get_file(const std::string& commit, const RemoteFile& file, std::int64_t from,
                      const std::function<bool(const HttpHead&)>& begin,
                      const std::function<bool(std::string_view)>& add);

  /// The failure behind an answer, in one line with its remedy.
  [[noreturn]] void fail(const HttpAnswer& answer, const std::string& what) const;

 private:
  RepoId model_;
  const FetchOptions& options_;
  FetchProgress& progress_;
  HttpClient http_;
};

}  // namespace tunebench::hub
