#include "session.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::integration {

Session::Session() : folder_("tunebench-session-") {}

Session::Running::Running(Child child, std::filesystem::path out, std::filesystem::path err)
    : child_(std::move(child)), out_(std::move(out)), err_(std::move(err)) {}

void Session::Running::signal(int number) {
  child_.signal_group(number);
}

Said Session::Running::wait(std::chrono::seconds limit) {
  const std::optional<ExitStatus> exit = child_.wait_for(limit);
  Said said{.exit = exit.value_or(ExitStatus{}), .out = read_file(out_), .err = read_file(err_)};
  EXPECT_TRUE(exit.has_value()) << "it hangs; so far it said: " << said.err;
  return said;
}

Session::Running Session::start(const std::vector<std::string>& words) {
  const std::string number = std::to_string(++calls_);
  const std::filesystem::path out = folder() / ("out." + number);
  const std::filesystem::path err = folder() / ("err." + number);
  ChildSpec spec;
  spec.argv = {
      "sh", "-c",
      R"([ -z "$SESSION_KIB" ] || ulimit -v "$SESSION_KIB";)"
      R"([ -z "$SESSION_CGROUP" ] || echo $$ >"$SESSION_CGROUP/cgroup.procs"; exec "$0" "$@" >"$SESSION_OUT" 2>"$SESSION_ERR")",
      TB_PROGRAM};
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  spec.environment = {{"SESSION_OUT", out.string()},
                      {"SESSION_ERR", err.string()},
                      {"SESSION_KIB", memory_kib_},
                      {"SESSION_CGROUP", control_group_.string()},
                      {"TUNEBENCH_STORE", store().string()}};
  spec.working_folder = folder();
  return {Child::start(spec), out, err};
}

Said Session::run(const std::vector<std::string>& words, std::chrono::seconds limit) {
  return start(words).wait(limit);
}

Json Session::exported() {
  const Said said = run({"export", "--format", "json"});
  EXPECT_EQ(said.exit.code, 0) << said.err;
  return Json::parse(said.out, "export");
}

bool Session::wait_for_measurements(std::size_t count) {
  for (int tries = 0; tries < 600; ++tries) {
    if (std::filesystem::exists(store())) {
      const Said said = run({"export", "--format", "json"});
      if (said.exit.code == 0 && Json::parse(said.out, "export").as_array().size() >= count) {
        return true;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

std::string Session::write(const std::string& name, const std::string& text) const {
  write_file_atomically(folder() / name, text);
  return (folder() / name).string();
}

}  // namespace tunebench::integration
