#include "tunebench/hub/internal/hub_client.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"

namespace tunebench::hub {

namespace {

/// The longest list of files that is read: those of the largest models take less than 1 MiB.
constexpr std::size_t kMostListingBytes = std::size_t{32} << 20U;

/// A connection that brought so much was of use: its end is a new beginning.
constexpr std::int64_t kUsefulBytes = std::int64_t{1} << 20;

std::string seconds_text(std::chrono::milliseconds pause) {
  return format_duration(std::chrono::duration<double>(pause).count());
}

std::string why(const HttpAnswer& answer) {
  return answer.failure.empty() ? fmt::format("status {}", answer.head.status) : answer.failure;
}

}  // namespace

void FetchProgress::note(std::string line) {
  const std::scoped_lock lock(guard_);
  notes_.push_back(std::move(line));
}

std::vector<std::string> FetchProgress::take_notes() {
  const std::scoped_lock lock(guard_);
  return std::exchange(notes_, {});
}

bool Patience::once_more(const HttpAnswer& answer, std::int64_t came) {
  if (came >= kUsefulBytes) {
    tried_ = 1;
    pause_ = options_.first_pause;
  }
  if (!answer.may_retry || tried_ >= options_.tries || progress_.stop) {
    return false;
  }
  std::chrono::milliseconds pause = pause_;
  if (answer.head.retry_after_s) {
    if (*answer.head.retry_after_s > options_.longest_wait.count()) {
      return false;
    }
    pause = std::max(pause, std::chrono::milliseconds(*answer.head.retry_after_s * 1000));
  }
  progress_.note(fmt::format("{}: {}; again in {}", what_, why(answer), seconds_text(pause)));
  const auto until = std::chrono::steady_clock::now() + pause;
  while (std::chrono::steady_clock::now() < until && !progress_.stop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ++tried_;
  pause_ *= 2;
  return !progress_.stop;
}

Listing HubClient::listing() {
  const std::string url =
      fmt::format("{}/api/models/{}/revision/{}?blobs=true", options_.endpoint,
                  percent_encoded(model_.name, true), percent_encoded(model_.revision, false));
  std::string body;
  bool too_long = false;
  Patience patience(options_, progress_, model_.text());
  while (true) {
    body.clear();
    const HttpRequest request{.url = url,
                              .token = options_.token.value,
                              .stall_s = options_.stall_s,
                              .most_s = 300,
                              .begin = {},
                              .add =
                                  [&](std::string_view bytes) {
                                    body += bytes;
                                    too_long = body.size() > kMostListingBytes;
                                    return !too_long;
                                  },
                              .stop = &progress_.stop};
    const HttpAnswer answer = http_.get(request);
    if (answer.complete) {
      break;
    }
    if (too_long) {
      throw Error(ErrorCode::Corrupt, fmt::format("{}: its list of files is longer than {}",
                                                  model_.text(), format_bytes(kMostListingBytes)));
    }
    if (!patience.once_more(answer, 0)) {
      fail(answer, "");
    }
  }
  const std::string origin = mask_secrets(printable(options_.endpoint));
  return with_context(model_.text(),
                      [&] { return parse_listing(Json::parse(body, origin), model_, origin); });
}

HttpAnswer HubClient::get_file(const std::string& commit, const RemoteFile& file, std::int64_t from,
                               const std::function<bool(const HttpHead&)>& begin,
                               const std::function<bool(std::string_view)>& add) {
  const std::string url =
      fmt::format("{}/{}/resolve/{}/{}", options_.endpoint, percent_encoded(model_.name, true),
                  commit, percent_encoded(file.name, true));
  return http_.get({.url = url,
                    .token = options_.token.value,
                    .from = from,
                    .stall_s = options_.stall_s,
                    .begin = begin,
                    .add = add,
                    .stop = &progress_.stop});
}

void HubClient::fail(const HttpAnswer& answer, const std::string& what) const {
  const HttpHead& head = answer.head;
  const std::string hub = mask_secrets(printable(options_.endpoint));
  const std::string model = model_.text();
  const std::string subject = what.empty() ? model : fmt::format("{}: {}", model, printable(what));
  const bool has_token = !options_.token.value.empty();
  const std::string origin = printable(options_.token.origin);
  if (progress_.stop) {
    throw Error(ErrorCode::Io, fmt::format("{}: given up", subject));
  }
  if (!answer.failure.empty()) {
    throw Error(ErrorCode::Io, fmt::format("{}: {}", subject, answer.failure));
  }
  if (head.error_code == "GatedRepo" || (head.status == 403 && head.error_code.empty())) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{} is gated: ask for access at {}/{}{}", model, hub, model_.name,
                            has_token ? fmt::format("; the token in {} has none yet", origin)
                                      : ", then set HF_TOKEN to a token of yours"));
  }
  if (head.error_code == "RevisionNotFound") {
    throw Error(ErrorCode::NotFound,
                fmt::format("{} has no revision '{}' at {}", model_.name, model_.revision, hub));
  }
  if (head.status == 401 && head.error_code != "RepoNotFound" && has_token) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: {} does not take the token in {}", subject, hub, origin));
  }
  if (head.status == 401 || (head.status == 404 && (what.empty() || !head.error_code.empty()))) {
    throw Error(ErrorCode::NotFound,
                fmt::format("{} is not at {}, or it is private{}", subject, hub,
                            has_token ? fmt::format(" and the token in {} may not see it", origin)
                                      : " and HF_TOKEN must be set"));
  }
  if (head.status == 429 || head.retry_after_s) {
    throw Error(
        ErrorCode::Io,
        fmt::format("{}: {} has answered too many requests (status {}){}", subject, hub,
                    head.status,
                    head.retry_after_s
                        ? fmt::format("; it asks to come again in {}",
                                      format_duration(static_cast<double>(*head.retry_after_s)))
                        : "; try again later"));
  }
  throw Error(ErrorCode::Io,
              fmt::format("{}: {} answers with status {}{}", subject, hub, head.status,
                          head.error_message.empty() ? "" : " (" + head.error_message + ")"));
}

}  // namespace tunebench::hub
