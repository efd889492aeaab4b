#include "tunebench/store/internal/run_names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::store {
namespace {

constexpr std::array kAdjectives{
    "able",   "agile",  "airy",   "amber",   "apt",    "azure",  "blithe", "bold",   "brave",
    "bright", "brisk",  "calm",   "candid",  "civil",  "clear",  "clever", "cosy",   "crisp",
    "deft",   "eager",  "early",  "earnest", "easy",   "exact",  "fair",   "fleet",  "fond",
    "frank",  "fresh",  "gentle", "glad",    "golden", "good",   "grand",  "green",  "hale",
    "handy",  "happy",  "hardy",  "honest",  "humble", "jolly",  "keen",   "kind",   "lively",
    "lofty",  "loyal",  "lucid",  "lucky",   "merry",  "mild",   "modest", "neat",   "nimble",
    "noble",  "novel",  "placid", "plain",   "polite", "prime",  "proper", "proud",  "quick",
    "quiet",  "rapid",  "ready",  "robust",  "rosy",   "serene", "sharp",  "silver", "sincere",
    "smart",  "smooth", "snug",   "solid",   "sound",  "spry",   "steady", "still",  "stout",
    "sturdy", "sunny",  "supple", "sure",    "swift",  "tidy",   "true",   "upbeat", "vivid",
    "warm",   "wise",   "witty",  "young",   "zesty"};

constexpr std::array kAnimals{
    "adder",  "badger",  "beaver",  "bison",   "bittern", "bobcat", "bream",  "bunting", "buzzard",
    "camel",  "carp",    "cobra",   "condor",  "coot",    "coyote", "crane",  "cricket", "curlew",
    "deer",   "dingo",   "dipper",  "dolphin", "dove",    "eagle",  "egret",  "eland",   "falcon",
    "ferret", "finch",   "fox",     "gannet",  "gazelle", "gecko",  "gibbon", "goose",   "grebe",
    "grouse", "gull",    "hare",    "hawk",    "heron",   "hoopoe", "ibex",   "ibis",    "impala",
    "jackal", "jay",     "kestrel", "kite",    "koala",   "lark",   "lemur",  "linnet",  "llama",
    "lynx",   "magpie",  "marmot",  "marten",  "merlin",  "moose",  "newt",   "ocelot",  "osprey",
    "otter",  "owl",     "panda",   "perch",   "pigeon",  "pike",   "plover", "puffin",  "puma",
    "quail",  "rabbit",  "raven",   "robin",   "rook",    "salmon", "seal",   "shrew",   "skylark",
    "snipe",  "sparrow", "stoat",   "stork",   "swallow", "swan",   "tapir",  "teal",    "tern",
    "thrush", "toad",    "trout",   "turtle",  "vole",    "weasel", "wolf",   "wombat",  "wren",
    "yak",    "zebra"};

/// Tries of two words before a number is added.
constexpr int kPlainTries = 20;

constexpr std::string_view kLast = "@last";

[[noreturn]] void throw_not_found(std::string_view text, const std::vector<std::string>& names,
                                  const std::vector<std::string>& others) {
  if (names.empty()) {
    throw Error(ErrorCode::NotFound, "there are no runs yet");
  }
  std::vector<std::string> candidates = names;
  candidates.insert(candidates.end(), others.begin(), others.end());
  const std::string hint = did_you_mean(text, candidates);
  throw Error(ErrorCode::NotFound,
              fmt::format("no run is named '{}'{}", printable(text),
                          hint.empty() ? "; the newest is " + names.front() : " - " + hint));
}

std::string nth_newest(std::string_view text, const std::vector<std::string>& names) {
  std::string_view rest = text.substr(kLast.size());
  std::optional<std::int64_t> back = 0;
  if (!rest.empty()) {
    back = rest.front() == '~' ? parse_int(rest.substr(1)) : std::nullopt;
  }
  if (!back || *back < 0) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("'{}' names no run; write @last, or @last~1 for the one before it",
                            printable(text)));
  }
  if (static_cast<std::size_t>(*back) >= names.size()) {
    throw Error(ErrorCode::NotFound, names.empty()
                                         ? "there are no runs yet"
                                         : fmt::format("'{}' goes too far back: there {} {} run{}",
                                                       text, names.size() == 1 ? "is" : "are",
                                                       names.size(), names.size() == 1 ? "" : "s"));
  }
  return names[static_cast<std::size_t>(*back)];
}

}  // namespace

std::string new_run_name(const std::function<bool(const std::string&)>& is_taken) {
  std::random_device random;
  const auto pick = [&random](const auto& words) {
    return words[std::uniform_int_distribution<std::size_t>(0, words.size() - 1)(random)];
  };
  std::string name;
  for (int i = 0; i < kPlainTries; ++i) {
    name = fmt::format("{}-{}", pick(kAdjectives), pick(kAnimals));
    if (!is_taken(name)) {
      return name;
    }
  }
  for (int number = 2;; ++number) {
    std::string numbered = fmt::format("{}-{}", name, number);
    if (!is_taken(numbered)) {
      return numbered;
    }
  }
}

std::string resolve_run_name(std::string_view text, const std::vector<std::string>& names,
                             const std::vector<std::string>& others) {
  if (text.starts_with(kLast)) {
    return nth_newest(text, names);
  }
  if (std::ranges::find(names, text) != names.end()) {
    return std::string(text);
  }
  std::vector<std::string> fitting;
  for (const std::string& name : names) {
    if (!text.empty() && name.starts_with(text)) {
      fitting.push_back(name);
    }
  }
  if (fitting.size() > 1) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("'{}' fits several runs: {}", printable(text), join(fitting, ", ")));
  }
  if (fitting.empty()) {
    throw_not_found(text, names, others);
  }
  return fitting.front();
}

}  // namespace tunebench::store
