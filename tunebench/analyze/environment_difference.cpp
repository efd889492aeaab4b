#include "tunebench/analyze/environment_difference.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/core.h>

#include "tunebench/base/text.h"

namespace tunebench::analyze {
namespace {

constexpr std::array<std::string_view, 1> kFleeting{"memory_usable_bytes"};

void flatten(const Json& value, const std::string& name, std::map<std::string, std::string>& flat) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.as_object()) {
      flatten(member, name.empty() ? key : name + "." + key, flat);
    }
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.as_array().size(); ++i) {
      flatten(value.as_array()[i], fmt::format("{}[{}]", name, i), flat);
    }
  } else if (!value.is_null()) {
    flat[name] = printable(value.is_string() ? value.as_string() : value.dump());
  }
}

std::string text_of(const std::map<std::string, std::string>& flat, const std::string& name) {
  const auto found = flat.find(name);
  return found == flat.end() ? "-" : found->second;
}

struct Difference {
  std::string name;  ///< "gpus[0].power_limit_w"
  std::string before;
  std::string after;
};

std::vector<Difference> differences(const Json& a, const Json& b) {
  std::map<std::string, std::string> left;
  std::map<std::string, std::string> right;
  flatten(a, "", left);
  flatten(b, "", right);
  std::set<std::string> names;
  for (const auto* flat : {&left, &right}) {
    for (const auto& [name, value] : *flat) {
      names.insert(name);
    }
  }
  for (const std::string_view name : kFleeting) {
    names.erase(std::string(name));
  }
  std::vector<Difference> found;
  for (const std::string& name : names) {
    Difference difference{name, text_of(left, name), text_of(right, name)};
    if (difference.before != difference.after) {
      found.push_back(std::move(difference));
    }
  }
  return found;
}

/// "gpus[0].power_limit_w" -> "power_limit_w".
std::string last_part(const std::string& name) {
  std::string part = name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
  return part.substr(0, part.find('['));
}

/// What a reader looks at first.
int rank_of(const Difference& difference) {
  constexpr std::array<std::string_view, 4> kFirst{"driver", "cuda", "gpu", "cpu"};
  for (std::size_t i = 0; i < kFirst.size(); ++i) {
    if (difference.name.starts_with(kFirst[i])) {
      return static_cast<int>(i);
    }
  }
  return static_cast<int>(kFirst.size());
}

std::string words_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string change_text(const Difference& difference) {
  const std::string name = last_part(difference.name);
  const auto with_unit = [&](std::string_view suffix, std::string_view unit) {
    return fmt::format("{} {} -> {} {}", words_of(name.substr(0, name.size() - suffix.size())),
                       difference.before, difference.after, unit);
  };
  if (name.ends_with("_w")) {
    return with_unit("_w", "W");
  }
  const auto before = parse_int(difference.before);
  const auto after = parse_int(difference.after);
  if (name.ends_with("_bytes") && before && after) {
    return fmt::format("{} {} -> {}", words_of(name.substr(0, name.size() - 6)),
                       format_bytes(*before), format_bytes(*after));
  }
  // Names of variables stay as they are.
  const bool variable = difference.name.starts_with("variables.");
  return fmt::format("{} {} -> {}", variable ? name : words_of(name), difference.before,
                     difference.after);
}

}  // namespace

std::vector<std::string> environment_differences(const Json& a, const Json& b) {
  std::vector<std::string> lines;
  for (const Difference& difference : differences(a, b)) {
    lines.push_back(fmt::format("{}: {} -> {}", printable(difference.name), difference.before,
                                difference.after));
  }
  return lines;
}

std::vector<std::string> environment_changes(const Json& a, const Json& b) {
  std::vector<Difference> found = differences(a, b);
  std::stable_sort(found.begin(), found.end(), [](const Difference& x, const Difference& y) {
    return rank_of(x) < rank_of(y);
  });
  std::vector<std::string> changes;
  for (const Difference& difference : found) {
    std::string text = printable(change_text(difference));
    if (std::find(changes.begin(), changes.end(), text) == changes.end()) {
      changes.push_back(std::move(text));
    }
  }
  return changes;
}

std::string hardware_name(const record::Record& record) {
  const auto text_at = [](const Json& object, std::string_view name) {
    const Json* found = object.find(name);
    return found != nullptr && found->is_string() ? found->as_string() : std::string("unknown");
  };
  const auto gpus_used = record.inputs.find("number_gpus");
  const Json* gpus = record.environment.find("gpus");
  if (gpus_used != record.inputs.end() && gpus_used->second.is_int() &&
      gpus_used->second.as_int() > 0 && gpus != nullptr && gpus->is_array() &&
      !gpus->as_array().empty()) {
    const Json& gpu = gpus->as_array().front();
    const Json* memory = gpu.find("memory_bytes");
    const std::string size = memory != nullptr && memory->is_int()
                                 ? fmt::format(" ({})", format_bytes(memory->as_int()))
                                 : std::string();
    return text_at(gpu, "model") + size;
  }
  const Json* cores = record.environment.find("cores_usable");
  return fmt::format("{}, {} cores", text_at(record.environment, "cpu_model"),
                     cores == nullptr ? "?" : cores->dump());
}

}  // namespace tunebench::analyze
