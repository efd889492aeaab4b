#pragma once

#include <cstdint>

namespace tunebench::stats {

/// Price of a million tokens: price_per_hour x devices / (tokens_per_s x 3600) x 1e6. The price is
/// that of one GPU; on a CPU that of the machine, with devices 1.
/// Errors: Internal when tokens_per_s is not above 0 or devices is below 1.
double cost_per_million_tokens(double price_per_hour, std::int64_t devices, double tokens_per_s);

/// energy_j / tokens. Errors: Internal when tokens is not above 0.
double joules_per_token(double energy_j, double tokens);

/// 3.6e6 J are a kWh.
double kwh_per_million_tokens(double joules_per_token);

}  // namespace tunebench::stats
