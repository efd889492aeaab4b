#include "tunebench/cli/planned_comparison.h"

#include <span>
#include <sstream>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/config/command_line.h"

namespace tunebench::cli {
namespace {

/// The words that name A: a baseline, if there is one of that name, else a run.
std::vector<std::string> words_of_baseline(const std::string& name, const store::Store& store) {
  try {
    static_cast<void>(store.baseline(name));
    return {"--baseline", name};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) {
      throw;
    }
  }
  return {store.find_run(name).name};
}

}  // namespace

PlannedComparison::PlannedComparison(const campaign::Request& request, const store::Store& store,
                                     const std::string& location) {
  if (!request.compare) {
    return;
  }
  words_ = with_context(request.compare->where,
                        [&] { return words_of_baseline(request.compare->baseline, store); });
  if (!request.compare->by.empty()) {
    words_.insert(words_.end(), {"--by", join(request.compare->by, ",")});
  }
  for (const campaign::GateRequest& gate : request.fail_if) {
    words_.insert(words_.end(), {"--fail-if", gate.text});
  }
  words_.insert(words_.end(), {"--store", location});
}

std::vector<std::string> PlannedComparison::words(const store::Run& run) const {
  if (words_.empty()) {
    return {};
  }
  std::vector<std::string> words{"compare"};
  words.insert(words.end(), words_.begin(), words_.end());
  if (run.simulated) {
    words.emplace_back("--simulated");
  }
  words.push_back(run.name);
  return words;
}

int PlannedComparison::tell(const store::Run& run, Console& console, Json* json) const {
  std::vector<std::string> all = words(run);
  if (all.empty()) {
    return kOk;
  }
  if (json != nullptr) {
    all.emplace_back("--json");
  }
  const Command command = compare_command();
  Invocation invocation{.line = {}, .words = all};
  invocation.line =
      config::parse_command_line(command.spec, std::span(all).subspan(1), invocation.problems);
  TB_CHECK(invocation.problems.empty());
  if (json == nullptr) {
    return command.handler(invocation, console);
  }
  std::ostringstream text;
  Console kept{.out = text, .err = console.err};
  const int code = command.handler(invocation, kept);
  *json = code == kUsage ? Json() : Json::parse(text.str(), "compare");
  return code;
}

}  // namespace tunebench::cli
