#include "tunebench/outside/environments.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "tunebench/base/clock.h"
#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/subprocess.h"
#include "tunebench/base/text.h"
#include "tunebench/base/user_folder.h"

namespace tunebench::outside {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr const char* kMarker = "tunebench-environment.json";
constexpr seconds kBetweenLines{5};
constexpr seconds kLongestCheck{600};
constexpr seconds kLongestInstall{7200};

/// What the environment's Python tells about itself: versions of all packages, and the modules that
/// do not import, each with its reason.
constexpr const char* kLook = R"(
import importlib, importlib.metadata, json, sys
found = {}
for one in importlib.metadata.distributions():
    name = one.metadata["Name"]
    if name:
        found[name] = one.version
broken = {}
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
    except BaseException as problem:
        broken[name] = "%s: %s" % (type(problem).__name__, problem)
with open(sys.argv[1], "w") as file:
    json.dump({"python": sys.version.split()[0], "packages": found, "broken": broken}, file)
)";

std::string base_python() {
  const char* given = std::getenv("TUNEBENCH_PYTHON");
  return given != nullptr && *given != '\0' ? given : "python3";
}

bool in_path(const char* program) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

/// The line of an installer's log that tells what went wrong: its last error, else its last line.
std::string reason_in(const std::filesystem::path& log) {
  std::string last;
  std::string error;
  for (const std::string& line : split(is_there(log) ? read_file(log) : "", '\n')) {
    const std::string text = printable(trim(line));
    if (!text.empty()) {
      last = text;
    }
    if (text.starts_with("ERROR:") || text.starts_with("error:")) {
      error = text;
    }
  }
  return mask_secrets(excerpt(error.empty() ? last : error, 300));
}

/// Packages that the installer has begun with, for a progress line.
std::size_t packages_begun(const std::filesystem::path& log) {
  std::size_t count = 0;
  for (const std::string& line : split(is_there(log) ? read_file(log) : "", '\n')) {
    const std::string_view text = trim(line);
    count += text.starts_with("Collecting ") || text.starts_with("+ ") ? 1U : 0U;
  }
  return count;
}

/// Everything that two processes must not do at once is done by one that holds the lock.
class Maker {
 public:
  Maker(const EnvironmentSpec& spec, std::filesystem::path folder, std::filesystem::path log,
        Environments::Say say)
      : spec_(spec), folder_(std::move(folder)), log_(std::move(log)), say_(std::move(say)) {}

  void make() {
    const steady_clock::time_point begin = steady_clock::now();
    say_(fmt::format("making environment {} ({} packages, about {}); once for all later runs",
                     spec_.name(), spec_.packages().size(), spec_.size));
    std::filesystem::remove_all(folder_);
    std::error_code ignored;
    std::filesystem::remove(log_, ignored);
    run({base_python(), "-m", "venv", folder_.string()}, "no virtual environment");
    const std::filesystem::path lock = folder_ / "lock.txt";
    write_file_atomically(lock, spec_.lock);
    const std::string python = (folder_ / "bin" / "python").string();
    if (in_path("uv")) {
      run({"uv", "pip", "install", "--python", python, "--no-deps", "--compile-bytecode",
           "--require-hashes", "--requirement", lock.string()},
          "uv failed");
    } else {
      run({python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
           "--progress-bar", "off", "--no-deps", "--require-hashes", "--requirement",
           lock.string()},
          "pip failed");
    }
    const Json seen = look();
    const std::vector<std::string> wrong = differences(seen);
    if (!wrong.empty()) {
      throw Error(ErrorCode::Io, fmt::format("environment {} was made but does not work: {}",
                                             spec_.name(), join(wrong, "; ")));
    }
    const double took = std::chrono::duration<double>(steady_clock::now() - begin).count();
    write_file_atomically(folder_ / kMarker,
                          Json::object({{"name", spec_.name()},
                                        {"lock", spec_.lock_id()},
                                        {"python", seen.at("python")},
                                        {"made_at", iso_time(system_clock().unix_seconds())},
                                        {"seconds", took}})
                              .dump(2));
    say_(fmt::format("environment {} is ready after {}", spec_.name(), format_duration(took)));
  }

  /// Versions and broken modules as kLook tells them.
  [[nodiscard]] Json look() const {
    const TemporaryFolder scratch("tunebench-look-");
    ChildSpec child;
    child.argv = {(folder_ / "bin" / "python").string(), "-c", kLook,
                  (scratch.path() / "seen.json").string()};
    child.argv.insert(child.argv.end(), spec_.imports.begin(), spec_.imports.end());
    child.environment = {{"CUDA_VISIBLE_DEVICES", ""}, {"PYTHONNOUSERSITE", "1"}};
    child.log_file = scratch.path() / "log";
    child.working_folder = scratch.path();
    Child running = Child::start(child);
    const std::optional<ExitStatus> exit = running.wait_for(kLongestCheck);
    if (!exit.has_value() || !exit->ok()) {
      throw Error(ErrorCode::Io,
                  fmt::format("environment {}: its Python does not run: {}", spec_.name(),
                              exit.has_value() ? reason_in(child.log_file) : "it hangs"));
    }
    return Json::parse(read_file(scratch.path() / "seen.json"), "environment");
  }

  [[nodiscard]] std::vector<std::string> differences(const Json& seen) const {
    std::vector<std::string> wrong;
    std::vector<std::pair<std::string, std::string>> found;
    for (const Json::Member& one : seen.at("packages").as_object()) {
      found.emplace_back(normal_package_name(one.first), one.second.as_string());
    }
    for (const auto& wanted : spec_.packages()) {
      const auto same = std::ranges::find(found, wanted.first, &decltype(found)::value_type::first);
      if (same == found.end()) {
        wrong.push_back(fmt::format("{} {} is missing", wanted.first, wanted.second));
      } else if (same->second != wanted.second) {
        wrong.push_back(
            fmt::format("{} is {}, not {}", wanted.first, printable(same->second), wanted.second));
      }
    }
    for (const Json::Member& one : seen.at("broken").as_object()) {
      wrong.push_back(fmt::format("{} does not import: {}", one.first,
                                  excerpt(printable(one.second.as_string()), 200)));
    }
    return wrong;
  }

 private:
  void run(std::vector<std::string> argv, const char* what) {
    ChildSpec child;
    child.argv = std::move(argv);
    child.log_file = log_;
    child.environment = {{"PYTHONNOUSERSITE", "1"}};
    Child running = Child::start(child);
    const steady_clock::time_point begin = steady_clock::now();
    steady_clock::time_point told = begin;
    std::optional<ExitStatus> exit;
    while (!(exit = running.wait_for(std::chrono::milliseconds(200))).has_value()) {
      const steady_clock::time_point now = steady_clock::now();
      if (now - begin > kLongestInstall) {
        break;
      }
      if (now - told >= kBetweenLines) {
        told = now;
        say_(fmt::format("environment {}: {} of {} packages, {}", spec_.name(),
                         packages_begun(log_), spec_.packages().size(),
                         format_duration(std::chrono::duration<double>(now - begin).count())));
      }
    }
    if (!exit.has_value() || !exit->ok()) {
      throw Error(ErrorCode::Io,
                  fmt::format("environment {} could not be made: {}: {} (log: {})", spec_.name(),
                              what, exit.has_value() ? reason_in(log_) : "it took over two hours",
                              display_path(log_)));
    }
  }

  const EnvironmentSpec& spec_;
  std::filesystem::path folder_;
  std::filesystem::path log_;
  Environments::Say say_;
};

std::string folder_name(const EnvironmentSpec& spec) {
  return spec.name() + "-" + spec.lock_id();
}

std::int64_t bytes_below(const std::filesystem::path& folder) {
  std::int64_t bytes = 0;
  std::error_code problem;
  for (std::filesystem::recursive_directory_iterator at(folder, problem), end;
       !problem && at != end; at.increment(problem)) {
    std::error_code unreadable;
    if (at->is_regular_file(unreadable) && !at->is_symlink(unreadable)) {
      const std::uintmax_t size = at->file_size(unreadable);
      bytes += unreadable ? 0 : static_cast<std::int64_t>(size);
    }
  }
  return bytes;
}

}  // namespace

std::filesystem::path default_environments_folder() {
  const char* given = std::getenv("TUNEBENCH_ENVS");
  return given != nullptr && *given != '\0' ? std::filesystem::path(given)
                                            : user_data_folder() / "envs";
}

std::filesystem::path Environments::folder(const EnvironmentSpec& spec) const {
  return root_ / folder_name(spec);
}

std::filesystem::path Environments::python(const EnvironmentSpec& spec) const {
  return folder(spec) / "bin" / "python";
}

bool Environments::ready(const EnvironmentSpec& spec) const {
  return is_there(folder(spec) / kMarker);
}

std::filesystem::path Environments::lock_file(const std::string& name) const {
  return root_ / (name + ".lock");
}

std::optional<FileLock> Environments::hold(const EnvironmentSpec& spec) {
  FileLock held = FileLock::wait(lock_file(folder_name(spec)), FileLock::Kind::Shared);
  return ready(spec) ? std::optional(std::move(held)) : std::nullopt;
}

FileLock Environments::use(const EnvironmentSpec& spec, const Say& say) {
  const std::filesystem::path lock = lock_file(folder_name(spec));
  while (true) {
    if (std::optional<FileLock> held = FileLock::try_lock(lock, FileLock::Kind::Shared);
        held && ready(spec)) {
      return std::move(*held);
    }
    std::optional<FileLock> alone = FileLock::try_lock(lock, FileLock::Kind::Exclusive);
    if (!alone) {
      say(fmt::format("waiting for another process that makes environment {}", spec.name()));
      alone = FileLock::wait(lock, FileLock::Kind::Exclusive);
    }
    if (!ready(spec)) {
      make(spec, say);
    }
    // Made and let go of: the next turn holds it shared, unless someone was quicker to remove it.
  }
}

void Environments::make(const EnvironmentSpec& spec, const Say& say) {
  Maker(spec, folder(spec), root_ / (folder_name(spec) + ".log"), say).make();
}

std::vector<EnvironmentState> Environments::list() const {
  std::vector<EnvironmentState> states;
  const auto add = [&](const std::string& name, const std::string& shown, bool known) {
    EnvironmentState state{.name = shown, .folder = root_ / name, .known = known};
    state.ready = is_there(state.folder / kMarker);
    if (state.ready) {
      const Json marker = Json::parse(read_file(state.folder / kMarker), kMarker);
      state.made_at = marker.at("made_at").as_string();
    }
    state.bytes = bytes_below(state.folder);
    if (is_there(lock_file(name))) {
      state.in_use = !FileLock::try_lock(lock_file(name), FileLock::Kind::Exclusive).has_value();
    }
    states.push_back(std::move(state));
  };
  std::vector<std::string> seen;
  for (const EnvironmentSpec& spec : environment_specs()) {
    seen.push_back(folder_name(spec));
    add(seen.back(), spec.name(), true);
  }
  std::vector<std::string> others;
  std::error_code problem;
  for (std::filesystem::directory_iterator at(root_, problem), end; !problem && at != end;
       at.increment(problem)) {
    const std::string name = at->path().filename().string();
    if (at->is_directory() && std::ranges::find(seen, name) == seen.end()) {
      others.push_back(name);
    }
  }
  std::ranges::sort(others);
  for (const std::string& name : others) {
    add(name, name, false);
  }
  return states;
}

std::vector<std::string> Environments::check(const EnvironmentSpec& spec) {
  const std::optional<FileLock> held = hold(spec);
  if (!held) {
    return {"it is not made: tunebench envs make " + spec.name()};
  }
  const Maker maker(spec, folder(spec), {}, [](const std::string&) {});
  try {
    return maker.differences(maker.look());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) {
      throw;
    }
    return {error.message()};
  }
}

void Environments::remove(const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.') ||
      !is_there(root_ / name)) {
    throw Error(ErrorCode::NotFound, fmt::format("there is no environment '{}' in {}",
                                                 printable(name), display_path(root_)));
  }
  const std::optional<FileLock> alone =
      FileLock::try_lock(lock_file(name), FileLock::Kind::Exclusive);
  if (!alone) {
    throw Error(ErrorCode::Io, fmt::format("environment {} is in use; it is removed when no "
                                           "measurement runs with it",
                                           printable(name)));
  }
  std::error_code problem;
  std::filesystem::remove_all(root_ / name, problem);
  if (problem) {
    throw Error(ErrorCode::Io,
                fmt::format("cannot remove {}: {}", display_path(root_ / name), problem.message()));
  }
}

}  // namespace tunebench::outside
