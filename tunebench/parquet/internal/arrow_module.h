#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tunebench::parquet {

/// What the program hands to the module: nothing of the program has to be linked into it.
struct PlainColumn {
  enum class Type { Integer, Real, Text, Boolean };
  std::string name;
  Type type = Type::Text;
  std::vector<std::uint8_t> present;   ///< 0: null; then the value beside it says nothing
  std::vector<std::int64_t> integers;  ///< of Integer and Boolean
  std::vector<double> reals;
  std::vector<std::string> texts;
};
struct PlainTable {
  std::size_t rows = 0;
  std::vector<PlainColumn> columns;
};

/// Raised with any change here: a module that an older build left behind is refused.
inline constexpr int kModuleVersion = 1;
inline constexpr const char* kModuleFile = "tunebench_parquet.so";

extern "C" {
int tunebench_parquet_version();
/// False and a reason when it fails; throws nothing.
bool tunebench_parquet_write(const PlainTable* table, std::string* bytes, std::string* reason);
}

}  // namespace tunebench::parquet
