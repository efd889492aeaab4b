#include "tests/architecture/rules.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::architecture {
namespace {

constexpr std::string_view kRoot = "tunebench/";

bool contains(const std::vector<std::string>& items, std::string_view item) {
  return std::find(items.begin(), items.end(), item) != items.end();
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_internal(std::string_view path) {
  return path.find("/internal/") != std::string_view::npos;
}

std::string folder_of(std::string_view path) {
  std::string folder(path.substr(0, path.rfind('/')));
  constexpr std::string_view kInternal = "/internal";
  if (folder.ends_with(kInternal)) {
    folder.resize(folder.size() - kInternal.size());
  }
  return folder;
}

/// The cells of "| a | b |", trimmed; none for other lines.
std::vector<std::string> table_cells(std::string_view line) {
  const std::string_view row = trim(line);
  if (row.size() < 2 || row.front() != '|' || row.back() != '|') {
    return {};
  }
  std::vector<std::string> cells;
  for (const std::string& cell : split(row.substr(1, row.size() - 2), '|')) {
    cells.emplace_back(trim(cell));
  }
  return cells;
}

/// What stands `between` backticks.
std::vector<std::string> quoted_words(std::string_view cell) {
  std::vector<std::string> words;
  const std::vector<std::string> parts = split(cell, '`');
  for (std::size_t i = 1; i < parts.size(); i += 2) {
    words.push_back(parts[i]);
  }
  return words;
}

std::string one_quoted_word(std::string_view cell) {
  const std::vector<std::string> words = quoted_words(cell);
  return words.size() == 1 ? words.front() : std::string();
}

std::optional<std::size_t> row_of(const std::vector<Layer>& layers, std::string_view folder) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].folder == folder) {
      return i;
    }
  }
  return std::nullopt;
}

/// Headers of the C and C++ standards, of POSIX, Linux and the compiler.
bool belongs_to_the_system(const std::string& name) {
  static const std::vector<std::string> kSystem = {
      "dlfcn.h", "fcntl.h",  "immintrin.h", "malloc.h", "poll.h",   "pthread.h",  "pwd.h",
      "sched.h", "signal.h", "termios.h",   "time.h",   "unistd.h", "xmmintrin.h"};
  const bool standard = name.find_first_of("/.") == std::string::npos;
  return standard || name.starts_with("sys/") || name.starts_with("netinet/") ||
         name.starts_with("arpa/") || name.starts_with("linux/") || contains(kSystem, name);
}

const Library* library_of(const std::vector<Library>& libraries, const std::string& header) {
  for (const Library& library : libraries) {
    for (const std::string& known : library.headers) {
      if (known.ends_with('/') ? header.starts_with(known) : header == known) {
        return &library;
      }
    }
  }
  return nullptr;
}

bool is_home(const Library& library, const SourceFile& file) {
  return library.homes.empty() || file.is_test() ||
         std::any_of(library.homes.begin(), library.homes.end(), [&](const std::string& home) {
           return home.ends_with('/') ? file.path.starts_with(home) : file.path == home;
         });
}

std::string place(const SourceFile& file, const Include& include) {
  return fmt::format("{}{}:{} includes {}", kRoot, file.path, include.line, include.name);
}

/// What is wrong with one include, or nothing.
std::string layer_breach(const std::vector<Layer>& layers, const SourceFile& file,
                         const Include& include) {
  const std::string target = include.name.substr(kRoot.size());
  const std::string from = file.folder();
  const std::string to = folder_of(target);
  if (from == to) {
    return "";
  }
  if (is_internal(target)) {
    return fmt::format("only {} may look into its internal/", to);
  }
  const std::optional<std::size_t> from_row = row_of(layers, from);
  const std::optional<std::size_t> to_row = row_of(layers, to);
  if (!from_row || !to_row) {
    return fmt::format("no row for {}", from_row ? to : from);
  }
  if (file.is_test() ? *to_row < *from_row : contains(layers[*from_row].may_include, to)) {
    return "";
  }
  return fmt::format("{} may not use {}", from, to);
}

}  // namespace

std::string SourceFile::folder() const {
  return folder_of(path);
}

bool SourceFile::is_header() const {
  return path.ends_with(".h");
}

bool SourceFile::is_test() const {
  const std::string name = file_name(path);
  return name.ends_with("_test.cpp") || name.ends_with("_bench.cpp") || name.starts_with("test_") ||
         name == "testing.h" || name == "testing.cpp";
}

SourceFile parse_source(std::string path, std::string_view text) {
  SourceFile file{.path = std::move(path), .lines = 0, .includes = {}};
  std::vector<std::string> lines = split(text, '\n');
  if (lines.back().empty()) {
    lines.pop_back();
  }
  for (const std::string& line : lines) {
    ++file.lines;
    std::string_view rest = trim(line);
    if (!rest.starts_with('#')) {
      continue;
    }
    rest = trim(rest.substr(1));
    if (!rest.starts_with("include")) {
      continue;
    }
    rest = trim(rest.substr(7));
    const bool angled = rest.starts_with('<');
    const std::size_t end = rest.find(angled ? '>' : '"', 1);
    if ((angled || rest.starts_with('"')) && end != std::string_view::npos) {
      file.includes.push_back({file.lines, std::string(rest.substr(1, end - 1)), angled});
    }
  }
  return file;
}

std::vector<Layer> parse_layers(std::string_view markdown) {
  std::vector<Layer> layers;
  bool inside = false;
  for (const std::string& line : split(markdown, '\n')) {
    const std::vector<std::string> cells = table_cells(line);
    if (cells.size() == 3 && cells[0] == "folder" && cells[2] == "may include") {
      inside = true;
    } else if (cells.size() != 3) {
      inside = false;
    } else if (const std::string folder = one_quoted_word(cells[0]); inside && !folder.empty()) {
      Layer layer{.folder = folder, .may_include = {}};
      for (const std::string& word : split(cells[2], ',')) {
        if (trim(word) != "\xE2\x80\x93") {  // an en dash: nothing
          layer.may_include.emplace_back(trim(word));
        }
      }
      layers.push_back(std::move(layer));
    }
  }
  if (layers.empty()) {
    throw Error(ErrorCode::InvalidInput, "no table with the columns folder, job, may include");
  }
  return layers;
}

std::vector<Library> parse_libraries(std::string_view markdown) {
  std::vector<Library> libraries;
  std::size_t headers = 0;
  std::size_t homes = 0;
  for (const std::string& line : split(markdown, '\n')) {
    const std::vector<std::string> cells = table_cells(line);
    const auto column = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find(cells.begin(), cells.end(), name) - cells.begin());
    };
    if (!cells.empty() && cells[0] == "library") {
      headers = column("headers");
      homes = column("included by");
    } else if (headers > 0 && std::max(headers, homes) < cells.size() &&
               !quoted_words(cells[headers]).empty()) {
      libraries.push_back({cells[0], quoted_words(cells[headers]), quoted_words(cells[homes])});
    }
  }
  if (libraries.empty()) {
    throw Error(ErrorCode::InvalidInput, "no table with the columns library, headers, included by");
  }
  return libraries;
}

std::vector<std::string> check_table_order(const std::vector<Layer>& layers) {
  std::vector<std::string> breaches;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (row_of(layers, layers[i].folder) != i) {
      breaches.push_back(fmt::format("{} has two rows", layers[i].folder));
    }
    for (const std::string& other : layers[i].may_include) {
      const std::optional<std::size_t> row = row_of(layers, other);
      if (!row) {
        breaches.push_back(
            fmt::format("the row of {} names {}, which has no row", layers[i].folder, other));
      } else if (*row >= i) {
        breaches.push_back(
            fmt::format("the row of {} names {}, which stands below it", layers[i].folder, other));
      }
    }
  }
  return breaches;
}

std::vector<std::string> check_rows(const std::vector<Layer>& layers,
                                    const std::vector<SourceFile>& files) {
  std::vector<std::string> folders;
  for (const SourceFile& file : files) {
    if (!contains(folders, file.folder())) {
      folders.push_back(file.folder());
    }
  }
  std::vector<std::string> breaches;
  for (const std::string& folder : folders) {
    if (!row_of(layers, folder)) {
      breaches.push_back(fmt::format("{}{} has no row", kRoot, folder));
    }
  }
  for (const Layer& layer : layers) {
    if (!contains(folders, layer.folder)) {
      breaches.push_back(fmt::format("the row of {} has no sources", layer.folder));
    }
  }
  return breaches;
}

std::vector<std::string> check_layers(const std::vector<Layer>& layers,
                                      const std::vector<SourceFile>& files) {
  std::vector<std::string> breaches;
  for (const SourceFile& file : files) {
    for (const Include& include : file.includes) {
      if (!include.name.starts_with(kRoot)) {
        continue;
      }
      const std::string breach = layer_breach(layers, file, include);
      if (!breach.empty()) {
        breaches.push_back(place(file, include) + ": " + breach);
      }
    }
  }
  return breaches;
}

std::vector<std::string> check_libraries(const std::vector<Library>& libraries,
                                         const std::vector<SourceFile>& files) {
  std::vector<std::string> breaches;
  for (const SourceFile& file : files) {
    const bool hidden = is_internal(file.path) || file.path.ends_with("_inl.h") || file.is_test();
    for (const Include& include : file.includes) {
      if (!include.angled || belongs_to_the_system(include.name)) {
        continue;
      }
      const Library* library = library_of(libraries, include.name);
      if (library == nullptr) {
        breaches.push_back(place(file, include) + ": docs/dependencies.md does not list it");
      } else if (file.is_header() && !hidden) {
        breaches.push_back(place(file, include) + ": " + library->name +
                           " belongs in sources only");
      } else if (!is_home(*library, file)) {
        breaches.push_back(place(file, include) + ": " + library->name + " is kept in " +
                           join(library->homes, ", "));
      }
    }
  }
  return breaches;
}

std::vector<std::string> check_lengths(const std::vector<SourceFile>& files, int longest) {
  std::vector<std::string> breaches;
  for (const SourceFile& file : files) {
    if (file.lines > longest) {
      breaches.push_back(fmt::format("{}{} has {} lines, more than {}: look for its second job",
                                     kRoot, file.path, file.lines, longest));
    }
  }
  return breaches;
}

}  // namespace tunebench::architecture
