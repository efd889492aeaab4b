#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/base/random.h"
#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/ops/cpu/op_case.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {
namespace {

using Views = std::vector<View>;

/// A routing that both backends get alike, as the choice itself is compared elsewhere.
class Routing {
 public:
  Routing(std::int64_t tokens, std::int64_t count, std::int64_t chosen)
      : experts_(tokens, chosen, DType::I32),
        places_(tokens, chosen, DType::I32),
        order_(1, tokens * chosen, DType::I32),
        begins_(1, count + 1, DType::I32) {
    Matrix logits = Matrix::normal(tokens, count, DType::F32, 5, 2.0);
    Matrix weights(1, tokens * chosen, DType::F32);
    make_ref_ops(DType::F32)->choose_experts(logits.view(), true, weights.view(), visits());
  }
  Visits visits() { return {experts_.view(), places_.view(), order_.view(), begins_.view()}; }

 private:
  Matrix experts_;
  Matrix places_;
  Matrix order_;
  Matrix begins_;
};

struct MixtureShape {
  std::int64_t tokens;
  std::int64_t count;
  std::int64_t chosen;
};
// The last has more experts than visits, so some are idle.
const std::vector<MixtureShape> kMixtures = {{1, 1, 1}, {13, 5, 2}, {37, 32, 8}, {6, 40, 3}};

/// Places as numbers of the backend's dtype, so that OpCase compares them.
void as_numbers(const View& places, const View& out) {
  for (std::int64_t i = 0; i < places.elements(); ++i) {
    Matrix::set_element(out, i, static_cast<double>(places.i32()[i]));
  }
}

TEST(CpuExperts, ChoosesAndOrdersAsTheOracle) {
  for (const MixtureShape& shape : kMixtures) {
    for (const bool renormalise : {true, false}) {
      const std::int64_t all = shape.tokens * shape.chosen;
      expect_like_the_oracle({.name = "choose_experts " + std::to_string(shape.count),
                              .arguments = {{Role::InOut, shape.tokens, shape.count, 3, 2.0},
                                            {Role::Out, 1, all},
                                            {Role::Out, shape.tokens, shape.chosen},
                                            {Role::Out, shape.tokens, shape.chosen},
                                            {Role::Out, 1, all},
                                            {Role::Out, 1, shape.count + 1}},
                              .run = [=](Ops& ops, const Views& v) {
                                Routing routing(shape.tokens, shape.count, shape.chosen);
                                const Visits visits = routing.visits();
                                ops.choose_experts(v[0], renormalise, v[1], visits);
                                as_numbers(visits.experts, v[2]);
                                as_numbers(visits.places, v[3]);
                                as_numbers(visits.tokens, v[4]);
                                as_numbers(visits.begins, v[5]);
                                return 0.0;
                              }});
    }
  }
}

TEST(CpuExperts, RouterGradientIsThatOfTheOracle) {
  const std::vector<std::int32_t> lengths = {4, 9};
  for (const bool renormalise : {true, false}) {
    for (const bool pulled : {true, false}) {
      expect_like_the_oracle(
          {.name = "choose_experts_backward",
           .arguments = {{Role::InOut, 22, 19, 2, 2.0},
                         {Role::In, 1, 66},
                         {Role::In, 1, 19},
                         {Role::Out, 22, 19, 1}},
           .run = [=, &lengths](Ops& ops, const Views& v) {
             Routing routing(22, 19, 3);
             Matrix weights(1, 66, ops.dtype());
             ops.choose_experts(v[0], renormalise, weights.view(), routing.visits());
             const RouterPull pull{pulled ? v[2] : View{}, {{2, 11}, lengths}};
             ops.choose_experts_backward(v[1], v[0], routing.visits(), renormalise, pull, v[3]);
             return 0.0;
           }});
    }
  }
}

TEST(CpuExperts, LoadAndBalanceAreThoseOfTheOracle) {
  const std::vector<std::int32_t> lengths = {4, 9};
  for (const bool padded : {true, false}) {
    expect_like_the_oracle(
        {.name = "add_expert_load",
         .arguments = {{Role::In, 22, 19, 2}, {Role::InOut, 2, 19, 1}, {Role::Out, 1, 19}},
         .run = [=, &lengths](Ops& ops, const Views& v) {
           Routing routing(22, 19, 3);
           RealTokens real{{2, 11}, {}};
           if (padded) {
             real.lengths = lengths;
           }
           ops.add_expert_load(v[0], routing.visits(), real, v[1]);
           return ops.expert_balance(v[1], 13, 0.3, v[2]);
         }});
  }
}

TEST(CpuExperts, ProductsAndWeightGradientsAreThoseOfTheOracle) {
  for (const MixtureShape& shape : kMixtures) {
    const std::int64_t all = shape.tokens * shape.chosen;
    for (const bool accumulate : {true, false}) {
      expect_like_the_oracle({.name = "expert_products " + std::to_string(shape.count),
                              .arguments = {{Role::In, all, 23, 2},
                                            {Role::In, shape.count * 50, 23},
                                            {Role::Out, all, 50, 1},
                                            {Role::Out, all, 23},
                                            {Role::InOut, shape.count * 50, 23}},
                              .run = [=](Ops& ops, const Views& v) {
                                Routing routing(shape.tokens, shape.count, shape.chosen);
                                const Visits visits = routing.visits();
                                ops.expert_products(true, v[0], v[1], visits, v[2]);
                                ops.expert_products(false, v[2], v[1], visits, v[3]);
                                ops.expert_weight_gradients(v[2], v[0], visits, v[4], accumulate);
                                return 0.0;
                              }});
    }
  }
}

TEST(CpuExperts, SumsVisitsAsTheOracle) {
  for (const MixtureShape& shape : kMixtures) {
    for (const bool accumulate : {true, false}) {
      expect_like_the_oracle(
          {.name = "sum_visits",
           .arguments = {{Role::In, shape.tokens * shape.chosen, 37, 3},
                         {accumulate ? Role::InOut : Role::Out, shape.tokens, 37, 1}},
           .run = [=](Ops& ops, const Views& v) {
             Routing routing(shape.tokens, shape.count, shape.chosen);
             ops.sum_visits(v[0], routing.visits(), v[1], accumulate);
             return 0.0;
           }});
    }
  }
}

TEST(CpuExperts, WeightedGatesAreThoseOfTheOracleAlsoInPlace) {
  for (const Activation activation : {Activation::Silu, Activation::GeluTanh, Activation::Gelu}) {
    for (const std::int64_t cols : {1, 19, 96}) {
      expect_like_the_oracle({.name = "weighted_gated",
                              .arguments = {{Role::In, 9, 2 * cols, 1, 4.0},
                                            {Role::In, 1, 9},
                                            {Role::Out, 9, cols, 2}},
                              .run = [=](Ops& ops, const Views& v) {
                                ops.weighted_gated(activation, v[0], v[1], v[2]);
                                return 0.0;
                              }});
      expect_like_the_oracle({.name = "weighted_gated_backward in place",
                              .arguments = {{Role::InOut, 9, 2 * cols, 3, 4.0},
                                            {Role::In, 1, 9},
                                            {Role::In, 9, cols},
                                            {Role::Out, 1, 9}},
                              .run = [=](Ops& ops, const Views& v) {
                                ops.weighted_gated_backward(activation, v[0], v[1], v[2], v[0],
                                                            v[3]);
                                return 0.0;
                              }});
    }
  }
}

TEST(CpuExperts, SigmoidAndItsGradientAreThoseOfTheOracle) {
  for (const std::int64_t rows : {1, 9}) {
    expect_like_the_oracle(
        {.name = "sigmoid in place",
         .arguments = {{Role::InOut, rows, 37, 1, 4.0}, {Role::InOut, rows, 37, 1}},
         .run = [=](Ops& ops, const Views& v) {
           ops.sigmoid(v[0], v[0]);
           ops.sigmoid_backward(v[0], v[1], v[1]);
           return 0.0;
         }});
  }
}

}  // namespace
}  // namespace tunebench::engine
