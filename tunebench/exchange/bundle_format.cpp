#include "tunebench/exchange/internal/bundle_format.h"

namespace tunebench::exchange {

Json run_line(const store::Run& run) {
  Json tags = Json::array();
  for (const std::string& tag : run.tags) {
    tags.push_back(tag);
  }
  return Json::object({{"kind", "run"},
                       {"name", run.name},
                       {"command", run.command},
                       {"started_at", run.started_at},
                       {"ended_at", run.ended_at},
                       {"status", run.status},
                       {"planned", run.planned},
                       {"pid", run.pid},
                       {"host", run.host},
                       {"process_start", run.process_start},
                       {"plan", run.plan},
                       {"stop_reason", run.stop_reason},
                       {"simulated", run.simulated},
                       {"tags", std::move(tags)}});
}

store::Run run_of(const Json& line) {
  store::Run run;
  run.name = line.at("name").as_string();
  run.command = line.at("command").as_string();
  run.started_at = line.at("started_at").as_string();
  run.ended_at = line.at("ended_at").as_string();
  run.status = line.at("status").as_string();
  run.planned = line.at("planned").as_int();
  run.pid = line.at("pid").as_int();
  run.host = line.at("host").as_string();
  run.process_start = line.at("process_start").as_string();
  run.plan = line.at("plan").as_string();
  run.stop_reason = line.at("stop_reason").as_string();
  run.simulated = line.at("simulated").as_bool();
  for (const Json& tag : line.at("tags").as_array()) {
    run.tags.push_back(tag.as_string());
  }
  return run;
}

}  // namespace tunebench::exchange
