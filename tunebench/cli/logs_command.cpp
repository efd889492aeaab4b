#include <memory>
#include <ostream>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/command.h"
#include "tunebench/measure/kept_log.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

namespace {

struct WantedLogs {
  std::string run;
  std::optional<std::int64_t> number;  ///< 1-based; absent: those of all that failed
};

WantedLogs wanted_logs(const std::string& argument) {
  const std::size_t slash = argument.rfind('/');
  if (slash == std::string::npos) {
    return {argument, std::nullopt};
  }
  const std::string_view number = std::string_view(argument).substr(slash + 1);
  const std::optional<std::int64_t> parsed = parse_int(number);
  if (!parsed || *parsed < 1) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("'{}' in '{}' is no number of a measurement (1, 2, ...)",
                            printable(number), printable(argument)));
  }
  return {argument.substr(0, slash), parsed};
}

struct NumberedRecord {
  std::size_t number;
  const record::Record* record;
};

std::vector<NumberedRecord> chosen(const std::vector<store::RunRecord>& records,
                                   const WantedLogs& wanted, const std::string& run) {
  if (wanted.number && static_cast<std::size_t>(*wanted.number) > records.size()) {
    throw Error(ErrorCode::NotFound, fmt::format("{} has {} measurements, there is no {}/{}", run,
                                                 records.size(), run, *wanted.number));
  }
  std::vector<NumberedRecord> found;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const bool asked = wanted.number ? static_cast<std::size_t>(*wanted.number) == i + 1
                                     : !records[i].record.is_valid();
    if (asked) {
      found.push_back({i + 1, &records[i].record});
    }
  }
  return found;
}

/// What the trainer printed; absent when nothing was kept, or the file is gone.
std::optional<std::string> log_of(const record::Record& record, std::string& why) {
  if (record.log_path.empty()) {
    why = "no output was kept";
    return std::nullopt;
  }
  try {
    return measure::read_kept_log(record.log_path);
  } catch (const Error& error) {
    why = error.message();
    return std::nullopt;
  }
}

int show_logs(const Invocation& invocation, Console& console) {
  const config::CommandLine& line = invocation.line;
  const WantedLogs wanted = wanted_logs(line.argument(0).value_or("@last"));
  const auto store = store::open_store(store::default_store_location(line.value("store")),
                                       store::OpenMode::ReadOnly);
  const store::Run run = store->find_run(wanted.run);
  const std::vector<store::RunRecord> records = store->records_of(run.name);
  const std::vector<NumberedRecord> logs = chosen(records, wanted, run.name);
  std::string text;
  Json items = Json::array();
  for (const auto& [number, record] : logs) {
    std::string why;
    const std::optional<std::string> log = log_of(*record, why);
    const std::string name = fmt::format("{}/{}", run.name, number);
    items.push_back(Json::object({{"measurement", name},
                                  {"status", record::outcome_name(record->status)},
                                  {"reason", record->reason},
                                  {"log", log ? Json(*log) : Json()}}));
    text += fmt::format("== {}  {}{}\n", name, record::outcome_name(record->status),
                        record->reason.empty() ? "" : ": " + printable(record->reason));
    for (const std::string& one : split(log.value_or("(" + why + ")\n"), '\n')) {
      text += printable(one) + "\n";
    }
    text.pop_back();  // what follows the last line break
  }
  if (logs.empty() && !invocation.json()) {
    console.err << fmt::format("no measurement of {} failed; the log of one: tunebench logs {}/1\n",
                               run.name, run.name);
    return kOk;
  }
  write_result(console, invocation.json() ? items.dump(2) + "\n" : text);
  return kOk;
}

}  // namespace

Command logs_command() {
  return {
      {.name = "logs",
       .summary = "show what the trainer printed, of the failed measurements of a run or of one",
       .arguments = {{"RUN[/N]",
                      "name, the beginning of one or @last (default); N: its N-th measurement",
                      false}},
       .options = {store_option(), json_option()},
       .examples = {"tunebench logs", "tunebench logs @last/4"}},
      show_logs};
}

}  // namespace tunebench::cli
