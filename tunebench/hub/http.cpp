#include "tunebench/hub/http.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/build_info.h"
#include "tunebench/base/clock.h"
#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/hub/internal/libcurl.h"

namespace tunebench::hub {

namespace {

constexpr int kMostRedirects = 10;
constexpr std::size_t kMostUnwantedBytes = std::size_t{256} << 10U;
constexpr std::size_t kMostHeaderBytes = std::size_t{256} << 10U;

/// The parts of an address that decide who gets a token. libcurl itself takes it apart: two parsers
/// that differ would be a way around the rule.
struct Origin {
  std::string scheme;
  std::string host;
  std::string port;
  friend bool operator==(const Origin&, const Origin&) = default;
};

std::optional<Origin> origin_of(const std::string& url) {
  const Libcurl& api = Libcurl::loaded();
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parts(api.curl_url(), api.curl_url_cleanup);
  if (parts == nullptr ||
      api.curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) {
    return std::nullopt;
  }
  const auto part = [&](CURLUPart which, unsigned flags) {
    char* text = nullptr;
    const bool there = api.curl_url_get(parts.get(), which, &text, flags) == CURLUE_OK;
    std::string result = there ? lower_ascii(text) : std::string();
    api.curl_free(text);
    return result;
  };
  return Origin{part(CURLUPART_SCHEME, 0), part(CURLUPART_HOST, 0),
                part(CURLUPART_PORT, CURLU_DEFAULT_PORT)};
}

bool is_this_machine(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

/// "bytes 100-199/1000", of which the first and the last number are wanted.
void read_range(std::string_view value, HttpHead& head) {
  if (!value.starts_with("bytes ")) {
    return;
  }
  value.remove_prefix(6);
  const std::size_t dash = value.find('-');
  const std::size_t slash = value.find('/');
  if (dash != std::string_view::npos && slash != std::string_view::npos && dash < slash) {
    head.range_begin = parse_int(value.substr(0, dash));
    head.range_total = parse_int(value.substr(slash + 1));
  }
}

/// Seconds, or a date of RFC 9110: "Tue, 01 Dec 2026 08:30:00 GMT".
std::optional<std::int64_t> seconds_of(const std::string& value) {
  if (const std::optional<std::int64_t> seconds = parse_int(value)) {
    return std::max<std::int64_t>(*seconds, 0);
  }
  std::tm date{};
  if (::strptime(value.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date) == nullptr) {
    return std::nullopt;
  }
  return std::max<std::int64_t>(::timegm(&date) - system_clock().unix_seconds(), 0);
}

void read_header(std::string_view line, HttpHead& head) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    return;
  }
  const std::string name = lower_ascii(line.substr(0, colon));
  const std::string value(trim(line.substr(colon + 1)));
  if (name == "content-length") {
    head.length = parse_int(value);
  } else if (name == "content-range") {
    read_range(value, head);
  } else if (name == "retry-after") {
    head.retry_after_s = seconds_of(value);
  } else if (name == "x-error-code") {
    head.error_code = excerpt(value);
  } else if (name == "x-error-message") {
    head.error_message = excerpt(value, 200);
  }
}

/// What may not come again. A certificate that is not trusted will not be trusted next time.
bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_CONNECT_ERROR:
      return true;
    default:
      return false;
  }
}

bool status_may_pass(int status) {
  return status == 408 || status == 429 || (status >= 500 && status <= 504 && status != 501);
}

/// One request as libcurl's callbacks see it. They are called from C: nothing may be thrown there.
struct Exchange {
  const HttpRequest& request;
  HttpHead head;
  std::size_t header_bytes = 0;
  std::size_t unwanted_bytes = 0;
  bool body_begun = false;
  bool refused = false;  ///< by begin, add or a bound
  std::exception_ptr thrown;

  template <typename Body>
  bool guarded(Body&& body) noexcept {
    try {
      refused = refused || !body();
    } catch (...) {
      thrown = std::current_exception();
      refused = true;
    }
    return !refused;
  }

  bool take_header(std::string_view line) {
    header_bytes += line.size();
    if (line.starts_with("HTTP/")) {
      head = {};
    } else {
      read_header(line, head);
    }
    return header_bytes <= kMostHeaderBytes;
  }

  bool take_body(int status, std::string_view bytes) {
    if (status != 200 && status != 206) {
      // Of an error or a redirect nobody wants it; an endless one is cut.
      unwanted_bytes += bytes.size();
      return unwanted_bytes <= kMostUnwantedBytes;
    }
    head.status = status;
    if (!body_begun) {
      body_begun = true;
      if (request.begin && !request.begin(head)) {
        return false;
      }
    }
    return !request.add || request.add(bytes);
  }
};

struct ExchangeHandle {
  Exchange* exchange;
  CURL* handle;
};

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* context) {
  auto& one = *static_cast<ExchangeHandle*>(context);
  const std::string_view line(data, size * count);
  return one.exchange->guarded([&] { return one.exchange->take_header(line); }) ? size * count : 0;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* context) {
  auto& one = *static_cast<ExchangeHandle*>(context);
  long status = 0;
  Libcurl::loaded().curl_easy_getinfo(one.handle, CURLINFO_RESPONSE_CODE, &status);
  const std::string_view bytes(data, size * count);
  return one.exchange->guarded(
             [&] { return one.exchange->take_body(static_cast<int>(status), bytes); })
             ? size * count
             : 0;
}

int on_progress(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& one = *static_cast<ExchangeHandle*>(context);
  const std::atomic<bool>* stop = one.exchange->request.stop;
  return stop != nullptr && stop->load() ? 1 : 0;
}

/// The certificates to trust beside libcurl's own default; empty: that alone.
std::string certificates_file() {
  for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
    if (value != nullptr && *value != '\0') {
      return value;
    }
  }
  return "";
}

struct HeaderList {
  HeaderList() = default;
  ~HeaderList() { Libcurl::loaded().curl_slist_free_all(list); }
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  void add(const std::string& line) {
    list = Libcurl::loaded().curl_slist_append(list, line.c_str());
  }
  curl_slist* list = nullptr;
};

/// One address of a chain of redirects.
struct Hop {
  std::string url;
  bool with_token = false;
};

}  // namespace

struct HttpClient::State {
  CURL* handle = nullptr;
  std::array<char, CURL_ERROR_SIZE> error{};
  std::string certificates = certificates_file();
  std::string agent = "tunebench/" + std::string(build_info().version);

  template <typename Value>
  void set(CURLoption option, Value value) const {
    TB_CHECK(Libcurl::loaded().curl_easy_setopt(handle, option, value) == CURLE_OK);
  }

  void set_options() const;
  CURLcode perform(const HttpRequest& request, const Hop& hop, Exchange& exchange);
  [[nodiscard]] std::string failure_of(CURLcode code, const Hop& hop) const;
};

void HttpClient::State::set_options() const {
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_CONNECTTIMEOUT, 20L);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_USERAGENT, agent.c_str());
  set(CURLOPT_WRITEFUNCTION, on_body);
  set(CURLOPT_HEADERFUNCTION, on_header);
  set(CURLOPT_XFERINFOFUNCTION, on_progress);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_BUFFERSIZE, 256L << 10U);
  if (!certificates.empty()) {
    set(CURLOPT_CAINFO, certificates.c_str());
  }
}

CURLcode HttpClient::State::perform(const HttpRequest& request, const Hop& hop,
                                    Exchange& exchange) {
  HeaderList headers;
  if (hop.with_token) {
    headers.add("Authorization: Bearer " + request.token);
  }
  ExchangeHandle context{&exchange, handle};
  const std::string range = request.from > 0 ? fmt::format("{}-", request.from) : "";
  error.front() = '\0';
  set(CURLOPT_URL, hop.url.c_str());
  set(CURLOPT_HTTPHEADER, headers.list);
  set(CURLOPT_RANGE, range.empty() ? nullptr : range.c_str());
  set(CURLOPT_TIMEOUT, request.most_s);
  set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(request.stall_s)));
  set(CURLOPT_WRITEDATA, &context);
  set(CURLOPT_HEADERDATA, &context);
  set(CURLOPT_XFERINFODATA, &context);
  set(CURLOPT_ERRORBUFFER, error.data());
  const CURLcode code = Libcurl::loaded().curl_easy_perform(handle);
  set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));
  if (exchange.thrown) {
    std::rethrow_exception(exchange.thrown);
  }
  return code;
}

std::string HttpClient::State::failure_of(CURLcode code, const Hop& hop) const {
  const std::optional<Origin> origin = origin_of(hop.url);
  const std::string text =
      error.front() != '\0' ? error.data() : Libcurl::loaded().curl_easy_strerror(code);
  return fmt::format("{}: {}", origin ? printable(origin->host) : "the hub",
                     mask_secrets(excerpt(trim(text), 200)));
}

HttpClient::HttpClient() : state_(std::make_unique<State>()) {
  state_->handle = Libcurl::loaded().curl_easy_init();
  TB_CHECK(state_->handle != nullptr);
  state_->set_options();
}

HttpClient::~HttpClient() {
  Libcurl::loaded().curl_easy_cleanup(state_->handle);
}

HttpAnswer HttpClient::get(const HttpRequest& request) {
  const Libcurl& api = Libcurl::loaded();
  const std::optional<Origin> home = origin_of(request.url);
  Hop hop{.url = request.url};
  HttpAnswer answer;
  if (!home) {
    answer.failure = fmt::format("'{}' is no address", mask_secrets(printable(request.url)));
    return answer;
  }
  for (int redirects = 0; redirects <= kMostRedirects; ++redirects) {
    const std::optional<Origin> origin = origin_of(hop.url);
    // A token in plain text stays on this machine.
    hop.with_token = !request.token.empty() && origin == home &&
                     (origin->scheme == "https" || is_this_machine(origin->host));
    Exchange exchange{.request = request};
    const CURLcode code = state_->perform(request, hop, exchange);
    long status = 0;
    api.curl_easy_getinfo(state_->handle, CURLINFO_RESPONSE_CODE, &status);
    answer.head = exchange.head;
    answer.head.status = static_cast<int>(status);
    if (code != CURLE_OK && exchange.unwanted_bytes <= kMostUnwantedBytes) {
      answer.may_retry = !exchange.refused && may_pass(code);
      answer.failure = state_->failure_of(code, hop);
      return answer;
    }
    char* location = nullptr;
    api.curl_easy_getinfo(state_->handle, CURLINFO_REDIRECT_URL, &location);
    if (status < 300 || status > 399 || location == nullptr) {
      answer.may_retry = status_may_pass(answer.head.status);
      answer.complete = status == 200 || status == 206;
      // An empty body calls nobody.
      if (answer.complete && !exchange.body_begun && request.begin) {
        answer.complete = request.begin(answer.head);
      }
      return answer;
    }
    const std::optional<Origin> next = origin_of(location);
    if (!next ||
        (next->scheme != "https" && (next->scheme != "http" || origin->scheme == "https"))) {
      answer.failure =
          fmt::format("{} redirects to an address that is not followed", printable(origin->host));
      return answer;
    }
    hop.url = location;
  }
  answer.failure = fmt::format("{}: more than {} redirects", printable(home->host), kMostRedirects);
  return answer;
}

std::string percent_encoded(std::string_view text, bool keep_slashes) {
  std::string result;
  for (const char letter : text) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') ||
                       std::string_view("-_.~").find(letter) != std::string_view::npos ||
                       (keep_slashes && letter == '/');
    result +=
        plain ? std::string(1, letter)
              : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(letter)));
  }
  return result;
}

}  // namespace tunebench::hub
