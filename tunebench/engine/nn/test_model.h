#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tunebench/base/random.h"
#include "tunebench/data/batch.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/nn/causal_lm.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/engine/ops/ops.h"
#include "tunebench/model/model_spec.h"

// A small model with random weights, for tests.
namespace tunebench::engine {

/// Grouped heads whose width is not D / H, odd sizes everywhere.
inline model::ModelSpec test_spec() {
  model::ModelSpec spec;
  spec.name = "test";
  spec.model_type = "llama";
  spec.vocabulary = 13;
  spec.width = 7;
  spec.layers = 2;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_width = 4;
  spec.feed_forward = 5;
  spec.max_positions = 32;
  return spec;
}

/// Random ids, every next token a label.
inline data::MicroBatch test_batch(const model::ModelSpec& spec, std::int64_t samples,
                                   std::int64_t length, std::uint64_t seed) {
  data::MicroBatch batch;
  batch.samples = samples;
  batch.length = length;
  const auto draw = [&](std::uint64_t stream, std::int64_t i) {
    return static_cast<std::int32_t>(uniform_int(seed, stream, static_cast<std::uint64_t>(i),
                                                 static_cast<std::uint64_t>(spec.vocabulary)));
  };
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    batch.ids.push_back(draw(1, i));
    batch.labels.push_back(draw(2, i));
  }
  batch.tokens_nonpad = batch.tokens();
  batch.tokens_trained = batch.tokens();
  return batch;
}

class TestModel {
 public:
  using Attach = std::function<const Parameter*(Parameters&)>;

  /// `attach` puts something around the projections before the model is made of them, and says what
  /// stands before the tokens.
  TestModel(const model::ModelSpec& spec, const CausalLM::Options& options, DType dtype,
            std::uint64_t seed = 7, const Training& training = {}, const Attach& attach = {})
      : ops(make_ref_ops(dtype)), plan_(Arena::plan_only()), arena_(Arena::plan_only()) {
    {
      Parameters planned(spec, dtype, plan_, training);
      CausalLM::Options planned_options = options;
      planned_options.prompt = attach ? attach(planned) : nullptr;
      CausalLM planned_model(spec, planned, planned_options, plan_);
      planned_model.dry_run();
    }
    arena_ = Arena::reserve(plan_.persistent_bytes(), plan_.scratch_high_water());
    parameters = std::make_unique<Parameters>(spec, dtype, arena_, training);
    CausalLM::Options own_options = options;
    own_options.prompt = attach ? attach(*parameters) : nullptr;
    model = std::make_unique<CausalLM>(spec, *parameters, own_options, arena_);
    std::uint64_t stream = 0;
    for (const std::vector<Parameters::Named>* list :
         {&parameters->named(), &parameters->added()}) {
      for (const Parameters::Named& named : *list) {
        ++stream;
        const View value = named.parameter.value;
        const double centre = named.initial == Parameters::Initial::One ? 1.0 : 0.0;
        for (std::int64_t i = 0; i < value.elements(); ++i) {
          Matrix::set_element(value, i,
                              centre + 0.4 * normal(seed, stream, static_cast<std::uint64_t>(i)));
        }
      }
    }
  }

  double forward_backward(const data::MicroBatch& batch, bool accumulate = false,
                          double gradient_scale = 1.0, const Chance& chance = {}) {
    const CausalLM::Losses losses =
        model->forward_backward(*ops, batch, gradient_scale, accumulate, chance);
    return losses.tokens + losses.router;
  }

  /// All gradients as they are now.
  [[nodiscard]] std::vector<std::byte> gradient_bytes() const {
    const View gradients = parameters->gradients();
    std::vector<std::byte> bytes(static_cast<std::size_t>(gradients.elements()) *
                                 dtype_bytes(gradients.dtype));
    std::memcpy(bytes.data(), gradients.data, bytes.size());
    return bytes;
  }

  [[nodiscard]] std::int64_t planned_high_water() const { return plan_.high_water(); }
  [[nodiscard]] std::int64_t high_water() const { return arena_.high_water(); }

  std::unique_ptr<Ops> ops;
  std::unique_ptr<Parameters> parameters;
  std::unique_ptr<CausalLM> model;

 private:
  Arena plan_;
  Arena arena_;
};

}  // namespace tunebench::engine
