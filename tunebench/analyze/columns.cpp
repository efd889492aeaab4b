#include "tunebench/analyze/columns.h"

#include "tunebench/analyze/point_names.h"
#include "tunebench/base/error.h"
#include "tunebench/experiment/property.h"
#include "tunebench/experiment/short_name.h"

namespace tunebench::analyze {
namespace {

constexpr std::string_view kPeak = "peak_mem_gib";
constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

}  // namespace

Columns::Columns(const Json& columns) {
  const Json::Object& members = columns.as_object();
  for (std::size_t i = 0; i < members.size(); ++i) {
    names_.push_back(members[i].first);
    places_.emplace(members[i].first, i);
  }
  for (const experiment::Property& property : experiment::properties()) {
    const std::string name = experiment::short_name(property.name);
    const auto place = places_.find(property.name);
    if (place != places_.end() && places_.emplace(name, place->second).second) {
      names_.push_back(name);
    }
  }
  if (places_.contains("host_peak_bytes") && places_.contains("device_peak_bytes")) {
    names_.emplace_back(kPeak);
  }
}

Json Columns::value(const Json& row, std::string_view name) const {
  const auto place = places_.find(name);
  if (place == places_.end()) {
    TB_CHECK(name == kPeak);
    return peak_mem_gib(value(row, "device_peak_bytes"), value(row, "host_peak_bytes"));
  }
  const Json::Object& members = row.as_object();
  TB_CHECK(place->second < members.size());
  return members[place->second].second;
}

Json peak_mem_gib(const Json& device_bytes, const Json& host_bytes) {
  for (const Json* bytes : {&device_bytes, &host_bytes}) {
    if (bytes->is_number() && bytes->as_double() > 0) {
      return bytes->as_double() / kBytesPerGib;
    }
  }
  return nullptr;
}

}  // namespace tunebench::analyze
