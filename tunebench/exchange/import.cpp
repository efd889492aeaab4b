#include "tunebench/exchange/import.h"

#include <algorithm>
#include <cctype>
#include <fstream>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/text.h"

namespace tunebench::exchange {
namespace {

/// One transaction each: large enough to be fast, small enough to keep nobody waiting.
constexpr std::size_t kBatch = 500;
constexpr std::string_view kBase32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
constexpr std::size_t kIdLength = 26;

/// The beginning of a file.
std::string head_of(const std::filesystem::path& file) {
  constexpr std::int64_t kHead = 4096;
  if (!std::filesystem::is_regular_file(file)) {
    static_cast<void>(MappedFile(file));  // says what is wrong
  }
  std::ifstream stream(file, std::ios::binary);
  std::string head(kHead, '\0');
  stream.read(head.data(), kHead);
  head.resize(static_cast<std::size_t>(stream.gcount()));
  if (head.empty()) {
    static_cast<void>(MappedFile(file));
    throw Error(ErrorCode::Corrupt, display_path(file) + " is empty");
  }
  return head;
}

FileKind kind_of_database(std::string_view head) {
  // The header's application id, four bytes at 68, marks our own.
  constexpr std::size_t kApplicationId = 68;
  if (head.size() >= kApplicationId + 4 && head.substr(kApplicationId, 4) == "tune") {
    return FileKind::OwnStore;
  }
  return FileKind::ForeignDatabase;
}

}  // namespace

FileKind kind_of(const std::filesystem::path& file) {
  const std::string head = head_of(file);
  constexpr std::string_view kSqlite{"SQLite format 3\0", 16};
  if (head.starts_with("\x1f\x8b") || head.starts_with("\x28\xb5\x2f\xfd")) {
    return FileKind::Bundle;
  }
  if (head.starts_with(kSqlite)) {
    return kind_of_database(head);
  }
  const std::string ending = lower_ascii(file.extension().string());
  return ending == ".yaml" || ending == ".yml" ? FileKind::Yaml : FileKind::Csv;
}

bool is_record_id(std::string_view text) {
  constexpr std::size_t kLongest = 100;  // older programs put a run's name into it
  return !text.empty() && text.size() <= kLongest && text.front() != '-' &&
         std::ranges::all_of(text, [](char letter) {
           return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-';
         });
}

std::string content_id(const record::Record& record, std::int64_t occurrence) {
  record::Record content = record;
  content.id.clear();
  content.run.clear();
  content.key.clear();
  content.environment = {};
  const std::string hash = sha256_hex(fmt::format("{}\n{}", occurrence, record::to_text(content)));
  std::string id;
  for (std::size_t i = 0; i < kIdLength; ++i) {
    // Two hex digits are eight bits, of which five make a letter.
    const int byte = std::stoi(hash.substr(2 * i, 2), nullptr, 16);
    id += kBase32[static_cast<std::size_t>(byte) % kBase32.size()];
  }
  return id;
}

Imported keep(store::Store& store, ForeignRecords&& foreign, const std::string& command,
              bool skip_bad) {
  Imported result{.rejected = std::move(foreign.rejected), .notes = std::move(foreign.notes)};
  if (!result.rejected.empty() && !skip_bad) {
    result.refused = true;
    return result;
  }
  std::vector<store::RunRecord> fresh;
  for (record::Record& record : foreign.records) {
    if (store.shows_record(record.id)) {
      ++result.known;
    } else {
      fresh.push_back({.record = std::move(record)});
    }
  }
  if (fresh.empty()) {
    return result;
  }
  store::NewRun begun{.command = command, .planned = static_cast<std::int64_t>(fresh.size())};
  begun.simulated = std::ranges::all_of(
      fresh, [](const store::RunRecord& one) { return one.record.trainer == "simulated"; });
  const std::string run = store.begin_run(begun).name;
  for (store::RunRecord& one : fresh) {
    one.record.run = run;
  }
  for (std::size_t first = 0; first < fresh.size(); first += kBatch) {
    const std::size_t count = std::min(kBatch, fresh.size() - first);
    result.added += store.import_records(run, std::span(fresh).subspan(first, count));
  }
  store.end_run(run, "imported");
  result.known += static_cast<std::int64_t>(fresh.size()) - result.added;
  result.runs.push_back(run);
  return result;
}

}  // namespace tunebench::exchange
