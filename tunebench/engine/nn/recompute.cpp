#include "tunebench/engine/nn/recompute.h"

namespace tunebench::engine {

std::string_view recompute_name(Recompute rung) {
  switch (rung) {
    case Recompute::None:
      return "none";
    case Recompute::Activation:
      return "activation";
    case Recompute::Norm:
      return "norm";
    case Recompute::Block:
      return "block";
  }
  return "";
}

}  // namespace tunebench::engine
