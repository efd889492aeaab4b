#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tunebench/engine/ops/ops.h"

// The float32 backends that tests of whole steps run on.
namespace tunebench::engine {

inline std::vector<std::string> test_backends() {
  return {"ref", "cpu"};
}

inline std::unique_ptr<Ops> make_test_ops(const std::string& backend) {
  return backend == "cpu" ? make_cpu_ops(2) : make_ref_ops(DType::F32);
}

}  // namespace tunebench::engine
