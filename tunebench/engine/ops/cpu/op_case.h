#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tunebench/engine/core/view.h"
#include "tunebench/engine/ops/ops.h"

// How the tests of this folder compare the backend with the oracle.
namespace tunebench::engine {

enum class Role {
  In,     ///< must come out unchanged
  Out,    ///< poisoned with NaN, so that an element not written shows
  InOut,  ///< random before, compared after
};

/// One matrix that an operation works on.
struct Argument {
  Role role = Role::In;
  std::int64_t rows = 1;
  std::int64_t cols = 1;
  std::int64_t padding = 0;  ///< elements between rows; must come out unchanged
  double deviation = 1.0;
  double offset = 0.0;
};

/// One operation on random numbers: run() gets a view of each argument and returns what the
/// operation returns, or 0.
struct OpCase {
  std::string name;
  std::vector<Argument> arguments;
  std::function<double(Ops&, const std::vector<View>&)> run;
};

/// Runs the case on every compiled instruction set that this machine has, with 1, 2 and 3 threads,
/// twice each: outputs lie within `tolerance` of the double-precision oracle (2-norm, relative) and
/// are the same bits both times; nothing else is written.
void expect_like_the_oracle(const OpCase& op_case, double tolerance = 1e-5);

/// Runs `body` once per compiled instruction set that this machine has.
void on_each_instruction_set(const std::function<void()>& body);

}  // namespace tunebench::engine
