#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/file_content.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/json.h"
#include "tunebench/base/text.h"
#include "tunebench/data/dataset.h"
#include "tunebench/data/jsonl_record.h"

namespace tunebench::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kHashWholeBelow = std::size_t{64} << 20U;
constexpr std::size_t kHashPiece = std::size_t{1} << 20U;
constexpr std::size_t kReleasePiece = std::size_t{16} << 20U;

/// One record: the field's raw text, or, when that could not be told apart cheaply, its line.
struct Record {
  std::size_t begin = 0;
  std::size_t length = 0;
  enum class Form : std::uint8_t { Plain, Escaped, Line } form = Form::Plain;
};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::string content_fingerprint(const MappedFile& file) {
  const std::string_view text = file.text();
  if (text.size() <= kHashWholeBelow) {
    return sha256_hex(text);
  }
  std::error_code code;
  const auto modified = std::filesystem::last_write_time(file.path(), code);
  return sha256_hex(fmt::format(
      "{} {} {} {}", text.size(), code ? 0 : modified.time_since_epoch().count(),
      sha256_hex(text.substr(0, kHashPiece)), sha256_hex(text.substr(text.size() - kHashPiece))));
}

class JsonlDataset final : public Dataset {
 public:
  JsonlDataset(const std::filesystem::path& file, std::string_view field)
      : file_(file), name_(display_path(file)), field_(field) {
    index_file();
    fingerprint_ = content_fingerprint(file_);
    file_.release_pages(0, file_.text().size());
  }

  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(records_.size());
  }
  [[nodiscard]] std::string text(std::int64_t index) const override;
  [[nodiscard]] const std::string& fingerprint() const override { return fingerprint_; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  void index_file();
  void add_line(std::size_t begin, std::string_view line, std::int64_t number);
  [[nodiscard]] Json parse_line(std::string_view line, std::int64_t number) const;
  void check_field(const Json& record, std::int64_t number) const;
  [[noreturn]] void fail(std::int64_t number, std::string_view what) const;

  MappedFile file_;
  std::string name_;
  std::string field_;
  std::vector<Record> records_;
  std::string fingerprint_;
};

void JsonlDataset::fail(std::int64_t number, std::string_view what) const {
  throw Error(ErrorCode::InvalidInput, fmt::format("{}:{}: {}", name_, number, what));
}

void JsonlDataset::index_file() {
  const std::string_view content = file_.text();
  if (const std::string kind = other_than_text(content); !kind.empty()) {
    throw Error(ErrorCode::InvalidInput, fmt::format("{}: is {}", name_, kind));
  }
  std::size_t at = content.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  std::size_t released = 0;
  for (std::int64_t number = 1; at < content.size(); ++number) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    const std::string_view line = content.substr(at, end - at);
    if (!is_blank(line)) {
      add_line(at, line, number);
    }
    at = end + 1;
    if (at - released > kReleasePiece) {
      file_.release_pages(released, std::min(at, content.size()) - released);
      released = at;
    }
  }
  if (records_.empty()) {
    throw Error(ErrorCode::InvalidInput, fmt::format("{}: is empty: it has no records", name_));
  }
}

void JsonlDataset::add_line(std::size_t begin, std::string_view line, std::int64_t number) {
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  if (const std::optional<RawString> raw = find_string_member(line, field_)) {
    records_.push_back({.begin = begin + raw->begin,
                        .length = raw->length,
                        .form = raw->escaped ? Record::Form::Escaped : Record::Form::Plain});
    return;
  }
  if (records_.empty() && trim(line).starts_with('[')) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: is a JSON array, not JSON lines; write one object a line", name_));
  }
  const Json record = parse_line(line, number);
  if (records_.empty() && field_ == "output" && record.is_object() &&
      record.find("output") == nullptr && record.find("text") != nullptr) {
    field_ = "text";
    add_line(begin, line, number);
    return;
  }
  check_field(record, number);
  records_.push_back({.begin = begin, .length = line.size(), .form = Record::Form::Line});
}

Json JsonlDataset::parse_line(std::string_view line, std::int64_t number) const {
  if (line.starts_with(kByteOrderMark)) {  // the JSON reader would skip it
    fail(number, "has a byte-order mark, which may only stand at the start of the file");
  }
  if (!is_valid_utf8(line)) {
    fail(number, "is not UTF-8");
  }
  constexpr std::string_view kOrigin = "record";
  try {
    return Json::parse(line, kOrigin);
  } catch (const Error& error) {
    // "record:1:17: what" becomes "FILE:number:17: what".
    std::string_view what = error.message();
    const std::string place = std::string(kOrigin) + ":1:";
    if (what.starts_with(place)) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}:{}:{}", name_, number, what.substr(place.size())));
    }
    fail(number, what);
  }
}

void JsonlDataset::check_field(const Json& record, std::int64_t number) const {
  if (!record.is_object()) {
    fail(number, fmt::format("is {}, not an object", record.kind_name()));
  }
  const Json* value = record.find(field_);
  if (value == nullptr) {
    constexpr std::size_t kShown = 5;
    std::vector<std::string> keys;
    for (const Json::Member& member : record.as_object()) {
      keys.push_back(fmt::format("'{}'", excerpt(member.first)));
    }
    const bool more = keys.size() > kShown;
    keys.resize(std::min(keys.size(), kShown));
    fail(number, keys.empty() ? "is an empty object"
                              : fmt::format("has no field '{}', only {}{}", field_,
                                            join(keys, ", "), more ? ", ..." : ""));
  }
  if (!value->is_string()) {
    fail(number, fmt::format("field '{}' is {}, not a string", field_, value->kind_name()));
  }
}

std::string JsonlDataset::text(std::int64_t index) const {
  TB_CHECK(index >= 0 && index < size());
  const Record& record = records_[static_cast<std::size_t>(index)];
  const std::string_view raw = file_.text().substr(record.begin, record.length);
  switch (record.form) {
    case Record::Form::Plain:
      return std::string(raw);
    case Record::Form::Escaped:
      return unescape_json(raw);
    case Record::Form::Line:
      break;
  }
  return Json::parse(raw, name_).at(field_).as_string();
}

}  // namespace

std::unique_ptr<Dataset> open_jsonl_dataset(const std::filesystem::path& file,
                                            std::string_view field) {
  return std::make_unique<JsonlDataset>(file, field);
}

}  // namespace tunebench::data
