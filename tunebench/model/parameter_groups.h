#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tunebench/model/model_spec.h"

namespace tunebench::model {

/// What a parameter does. Projections of one input are one parameter: Qkv, GateUp. Those of experts
/// are one for all of a layer; with experts GateUp and Down are of the one that all tokens visit.
enum class ParameterRole {
  Embedding,
  Positions,
  EmbeddingNorm,
  EmbeddingNormBias,
  Qkv,
  QkvBias,
  Output,
  OutputBias,
  Router,
  ExpertsGateUp,
  ExpertsDown,
  SharedGate,
  GateUp,
  GateUpBias,
  Down,
  DownBias,
  InputNorm,
  InputNormBias,
  QueryNorm,
  KeyNorm,
  PostAttentionNorm,
  MiddleNorm,
  MiddleNormBias,
  PostMlpNorm,
  FinalNorm,
  FinalNormBias,
  Head
};

/// One parameter as the engine holds it, and the tensors of a checkpoint that follow each other in
/// it.
struct ParameterGroup {
  struct Part {
    std::string name;  ///< as Hugging Face has it
    std::int64_t outputs = 0;
    std::int64_t stacked = 0;  ///< so many matrices in one tensor of three dimensions; 0: one
  };
  ParameterRole role = ParameterRole::Embedding;
  std::int64_t layer = -1;  ///< of what belongs to a block
  std::int64_t inputs = 0;  ///< 0: a vector
  std::vector<Part> parts;
  /// Norms and biases are vectors, and no other parameter is.
  [[nodiscard]] bool vector() const { return inputs == 0; }
  [[nodiscard]] bool bias() const;
  [[nodiscard]] std::int64_t outputs() const;
};

/// Every parameter of this shape, embedding first, block by block, head last; a tied head is not
/// listed. Which names: the family's table (tensor_names.h).
std::vector<ParameterGroup> parameter_groups(const ModelSpec& spec);

}  // namespace tunebench::model
