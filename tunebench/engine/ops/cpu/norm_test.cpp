#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/ops/cpu/op_case.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {
namespace {

using Views = std::vector<View>;

bool bits_agree(View a, View b) {
  return std::memcmp(a.data, b.data, static_cast<std::size_t>(a.elements()) * sizeof(float)) == 0;
}

TEST(CpuNorm, MultipliesWithOnePlusTheWeight) {
  expect_like_the_oracle({.name = "rms_norm with offset",
                          .arguments = {{Role::In, 13, 77, 1},
                                        {.cols = 77, .deviation = 0.3},
                                        {Role::Out, 13, 77, 3},
                                        {Role::Out, 1, 13},
                                        {Role::In, 13, 77},
                                        {Role::InOut, 13, 77, 2},
                                        {Role::Out, 1, 77}},
                          .run = [](Ops& ops, const Views& v) {
                            ops.rms_norm(v[0], {v[1], 1.0}, 1e-6, v[2], v[3]);
                            ops.rms_norm_backward(v[4], v[0], {v[1], 1.0}, v[3], v[5], v[6], false);
                            return 0.0;
                          }});
}

TEST(CpuNorm, LayerNormCentresAndScales) {
  for (const std::int64_t cols : {1, 7, 31, 64, 579}) {
    // Far from zero, where squares would swallow the variance.
    expect_like_the_oracle({.name = "layer_norm " + std::to_string(cols),
                            .arguments = {{Role::In, 13, cols, 1, 1.0, 50.0},
                                          {.cols = cols, .offset = 1.0},
                                          {.cols = cols},
                                          {Role::Out, 13, cols, 3},
                                          {Role::Out, 2, 13, 1}},
                            .run =
                                [](Ops& ops, const Views& v) {
                                  ops.layer_norm(v[0], v[1], v[2], 1e-5, v[3], v[4]);
                                  return 0.0;
                                }},
                           2e-5);
  }
}

TEST(CpuNorm, LayerNormBackwardAddsToTheInputGradient) {
  for (const bool accumulate : {false, true}) {
    const Role role = accumulate ? Role::InOut : Role::Out;
    expect_like_the_oracle({.name = "layer_norm_backward",
                            .arguments = {{Role::In, 29, 101, 1},
                                          {Role::In, 29, 101},
                                          {.cols = 101, .offset = 1.0},
                                          {Role::In, 2, 29, 0, 0.1, 1.0},
                                          {Role::InOut, 29, 101, 5},
                                          {role, 1, 101},
                                          {role, 1, 101}},
                            .run = [=](Ops& ops, const Views& v) {
                              ops.layer_norm_backward(v[0], v[1], v[2], v[3], v[4], v[5], v[6],
                                                      accumulate);
                              return 0.0;
                            }});
  }
}

TEST(CpuNorm, LayerNormBackwardOfFrozenWeightsLeavesThemOut) {
  expect_like_the_oracle({.name = "layer_norm_backward, frozen",
                          .arguments = {{Role::In, 5, 33},
                                        {Role::In, 5, 33},
                                        {.cols = 33, .offset = 1.0},
                                        {Role::In, 2, 5, 0, 0.1, 1.0},
                                        {Role::InOut, 5, 33}},
                          .run = [](Ops& ops, const Views& v) {
                            ops.layer_norm_backward(v[0], v[1], v[2], v[3], v[4], View{}, View{},
                                                    false);
                            return 0.0;
                          }});
}

TEST(CpuNorm, AddingInPlaceAndLayerNormGiveTheBitsOfTheTwoSteps) {
  on_each_instruction_set([] {
    const std::unique_ptr<Ops> ops = make_cpu_ops(2);
    Matrix x = Matrix::normal(11, 579, DType::F32, 1);
    Matrix x_again = Matrix::normal(11, 579, DType::F32, 1);
    Matrix delta = Matrix::normal(11, 579, DType::F32, 2);
    Matrix weight = Matrix::normal(1, 579, DType::F32, 3);
    Matrix bias = Matrix::normal(1, 579, DType::F32, 4);
    Matrix y(11, 579, DType::F32);
    Matrix y_again(11, 579, DType::F32);
    Matrix stats(2, 11, DType::F32);
    Matrix stats_again(2, 11, DType::F32);
    ops->add_layer_norm(x.view(), delta.view(), weight.view(), bias.view(), 1e-5, x.view(),
                        y.view(), stats.view());
    ops->add(delta.view(), x_again.view());
    ops->layer_norm(x_again.view(), weight.view(), bias.view(), 1e-5, y_again.view(),
                    stats_again.view());
    EXPECT_TRUE(bits_agree(x.view(), x_again.view()));
    EXPECT_TRUE(bits_agree(y.view(), y_again.view()));
    EXPECT_TRUE(bits_agree(stats.view(), stats_again.view()));
  });
}

TEST(CpuNorm, NormalisesEachHead) {
  for (const double offset : {0.0, 1.0}) {
    for (const std::int64_t width : {3, 16, 37}) {
      expect_like_the_oracle({.name = "head_norm " + std::to_string(width),
                              .arguments = {{Role::In, 9, 5 * width, 2},
                                            {.cols = width, .offset = 1.0},
                                            {Role::Out, 9, 5 * width, 1},
                                            {Role::Out, 9, 5, 3}},
                              .run = [=](Ops& ops, const Views& v) {
                                ops.head_norm(v[0], {v[1], offset}, 1e-6, v[2], v[3]);
                                return 0.0;
                              }});
    }
  }
}

TEST(CpuNorm, HeadNormGradientMayReplaceItsInput) {
  for (const bool accumulate : {false, true}) {
    expect_like_the_oracle(
        {.name = "head_norm_backward",
         .arguments = {{Role::InOut, 19, 4 * 11, 2},
                       {Role::In, 19, 4 * 11},
                       {.cols = 11, .offset = 1.0},
                       {Role::In, 19, 4, 1, 0.1, 1.0},
                       {accumulate ? Role::InOut : Role::Out, 1, 11}},
         .run = [=](Ops& ops, const Views& v) {
           ops.head_norm_backward(v[0], v[1], {v[2], 1.0}, v[3], v[0], v[4], accumulate);
           return 0.0;
         }});
  }
}

TEST(CpuNorm, HeadNormOfAFrozenWeightLeavesItOut) {
  expect_like_the_oracle({.name = "head_norm_backward, frozen",
                          .arguments = {{Role::In, 6, 2 * 11},
                                        {Role::In, 6, 2 * 11},
                                        {.cols = 11, .offset = 1.0},
                                        {Role::In, 6, 2, 0, 0.1, 1.0},
                                        {Role::Out, 6, 2 * 11}},
                          .run = [](Ops& ops, const Views& v) {
                            ops.head_norm_backward(v[0], v[1], v[2], v[3], v[4], View{}, false);
                            return 0.0;
                          }});
}

}  // namespace
}  // namespace tunebench::engine
