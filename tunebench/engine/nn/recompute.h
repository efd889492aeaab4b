#pragma once

#include <array>
#include <string_view>

namespace tunebench::engine {

/// What is kept from forward to backward, mildest first. Each rung drops what the one before it
/// drops and more; `refill` rebuilds it with the same kernels, so gradients are the same bits.
enum class Recompute {
  None,        ///< everything is kept
  Activation,  ///< the SwiGLU output is rebuilt
  Norm,        ///< also both normalised inputs
  Block,       ///< only each block's input is kept
};

inline constexpr std::array kRecomputeLadder = {Recompute::None, Recompute::Activation,
                                                Recompute::Norm, Recompute::Block};

/// "none", "activation", "norm", "block".
std::string_view recompute_name(Recompute rung);

}  // namespace tunebench::engine
