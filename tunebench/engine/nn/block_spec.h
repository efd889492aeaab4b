#pragma once

#include <cstdint>

#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/decoder_block.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::engine {

/// Tables of Ops::rope for the layers of one model. No rows: nothing is rotated.
struct RopeTables {
  View whole;
  View local;  ///< of layers with a window
};

/// What config.json says of one layer, in the engine's terms.
BlockSpec make_block_spec(const model::ModelSpec& spec, std::int64_t layer,
                          const RopeTables& tables);

}  // namespace tunebench::engine
