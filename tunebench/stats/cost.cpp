#include "tunebench/stats/cost.h"

#include "tunebench/base/error.h"

namespace tunebench::stats {

double cost_per_million_tokens(double price_per_hour, std::int64_t devices, double tokens_per_s) {
  TB_CHECK(tokens_per_s > 0 && devices >= 1);
  return price_per_hour * static_cast<double>(devices) / (tokens_per_s * 3600.0) * 1e6;
}

double joules_per_token(double energy_j, double tokens) {
  TB_CHECK(tokens > 0);
  return energy_j / tokens;
}

double kwh_per_million_tokens(double joules_per_token) {
  return joules_per_token * 1e6 / 3.6e6;
}

}  // namespace tunebench::stats
