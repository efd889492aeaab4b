#pragma once

#include <cstddef>
#include <vector>

#include "tunebench/record/record.h"
#include "tunebench/store/store.h"

namespace tunebench::report {

/// Made by the simulated trainer: numbers of a model, not of a machine.
bool is_simulated(const record::Record& record);

/// Takes simulated records out, so that they do not stand beside measured ones; how many they were.
std::size_t remove_simulated(std::vector<store::RunRecord>& records);

/// Takes out what other programs measured: their figures may count other things. How many it was.
std::size_t remove_imported(std::vector<store::RunRecord>& records);

/// Sets cost_per_mtok of every valid record: price_per_hour is that of one GPU, on a CPU that of
/// the machine. The store is not changed: a price is no part of a measurement.
void set_cost(std::vector<store::RunRecord>& records, double price_per_hour);

}  // namespace tunebench::report
