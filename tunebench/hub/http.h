#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tunebench::hub {

/// What an answer says before its body.
struct HttpHead {
  int status = 0;
  std::optional<std::int64_t> length;         ///< Content-Length
  std::optional<std::int64_t> range_begin;    ///< Content-Range: the first byte that comes
  std::optional<std::int64_t> range_total;    ///< Content-Range: of the whole file
  std::optional<std::int64_t> retry_after_s;  ///< Retry-After, as seconds or as a date
  std::string error_code;                     ///< X-Error-Code: "GatedRepo"
  std::string error_message;                  ///< X-Error-Message, an excerpt
};

struct HttpRequest {
  std::string url;
  std::string token;      ///< sent as "Bearer" to the host of `url` alone, not where it redirects
  std::int64_t from = 0;  ///< first byte wanted; above 0 as a Range
  double stall_s = 60.0;  ///< an answer that brings nothing for so long is cut
  long most_s = 0;        ///< the whole answer is there by then; 0: no such limit
  /// Called before the body of a success (200, 206); false gives up, as does `add`.
  std::function<bool(const HttpHead&)> begin = {};
  std::function<bool(std::string_view)> add = {};
  const std::atomic<bool>* stop = nullptr;  ///< true: give up soon
};

/// How a request ended.
struct HttpAnswer {
  HttpHead head;
  bool complete = false;   ///< the whole body was taken
  bool may_retry = false;  ///< what went wrong may not come again
  std::string failure;     ///< what went wrong below HTTP, one line; empty: the status tells
};

/// GET over HTTP and HTTPS. Certificates are checked against those of the system or of
/// $SSL_CERT_FILE, $REQUESTS_CA_BUNDLE, $CURL_CA_BUNDLE; nothing switches that off. At most ten
/// redirects, none from https to http. Connections are kept. Not thread-safe: one for each thread.
/// Errors of the constructor: Unsupported without libcurl.
class HttpClient {
 public:
  HttpClient();
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// What a callback throws is rethrown.
  HttpAnswer get(const HttpRequest& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// "a b/ü" as a part of an address: all but letters, digits, '-', '_', '.', '~' as %XX; '/' is kept
/// with `keep_slashes`.
std::string percent_encoded(std::string_view text, bool keep_slashes);

}  // namespace tunebench::hub
