#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/random.h"
#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/ops/cpu/op_case.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {
namespace {

using Views = std::vector<View>;

/// `count` ids below `bound`, some of them repeated.
std::vector<std::int32_t> random_ids(std::int64_t count, std::uint64_t bound) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(
        static_cast<std::int32_t>(uniform_int(3, 1, static_cast<std::uint64_t>(i), bound)));
  }
  return ids;
}

bool same_bits(View a, View b) {
  return std::memcmp(a.data, b.data, static_cast<std::size_t>(a.elements()) * sizeof(float)) == 0;
}

// --- matrix products ----------------------------------------------------------------------------

struct ProductSize {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t inner;
};

void expect_product(const ProductSize& size, bool transpose_a, bool transpose_b, bool accumulate) {
  const Argument a{.rows = transpose_a ? size.inner : size.rows,
                   .cols = transpose_a ? size.rows : size.inner,
                   .padding = 3};
  const Argument b{.rows = transpose_b ? size.cols : size.inner,
                   .cols = transpose_b ? size.inner : size.cols,
                   .padding = 5};
  expect_like_the_oracle({.name = "product " + std::to_string(size.rows) + "x" +
                                  std::to_string(size.cols) + "x" + std::to_string(size.inner) +
                                  (transpose_a ? " T" : " N") + (transpose_b ? "T" : "N"),
                          .arguments = {a,
                                        b,
                                        {.role = accumulate ? Role::InOut : Role::Out,
                                         .rows = size.rows,
                                         .cols = size.cols,
                                         .padding = 7}},
                          .run = [=](Ops& ops, const Views& v) {
                            ops.gemm(transpose_a, transpose_b, v[0], v[1], v[2], accumulate);
                            return 0.0;
                          }});
}

TEST(CpuOps, MultipliesInEveryOrientation) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const bool accumulate : {false, true}) {
        expect_product({37, 101, 53}, transpose_a, transpose_b, accumulate);
      }
    }
  }
}

TEST(CpuOps, MultipliesSingleRowsColumnsAndInnerElements) {
  expect_product({1, 130, 64}, false, true, false);
  expect_product({130, 1, 64}, false, true, false);
  expect_product({19, 23, 1}, true, false, true);
}

TEST(CpuOps, MultipliesMoreColumnsThanOneLibraryCallTakes) {
  expect_product({5, 3300, 9}, false, false, false);
  expect_product({3300, 5, 9}, true, false, true);
}

TEST(CpuOps, AnEmptyInnerSizeGivesZerosOrLeavesTheSumAlone) {
  expect_product({3, 4, 0}, false, false, false);
  expect_product({3, 4, 0}, false, false, true);
}

TEST(CpuOps, ProductsWithoutRowsOrColumnsDoNothing) {
  expect_product({0, 4, 3}, false, false, false);
  expect_product({4, 0, 3}, false, true, true);
}

TEST(CpuOps, BiasIsAddedToEachRowAndItsGradientIsTheColumnSum) {
  expect_like_the_oracle({.name = "add_bias",
                          .arguments = {{.cols = 83}, {Role::InOut, 21, 83, 2}},
                          .run = [](Ops& ops, const Views& v) {
                            ops.add_bias(v[0], v[1]);
                            return 0.0;
                          }});
  for (const bool accumulate : {false, true}) {
    expect_like_the_oracle(
        {.name = "bias_backward",
         .arguments = {{Role::In, 21, 83, 2}, {accumulate ? Role::InOut : Role::Out, 1, 83}},
         .run = [=](Ops& ops, const Views& v) {
           ops.bias_backward(v[0], v[1], accumulate);
           return 0.0;
         }});
  }
}

// --- normalisation ------------------------------------------------------------------------------

TEST(CpuOps, NormalisesRows) {
  for (const std::int64_t cols : {1, 7, 31, 64, 579}) {
    expect_like_the_oracle({.name = "rms_norm " + std::to_string(cols),
                            .arguments = {{Role::In, 13, cols, 1},
                                          {.cols = cols, .offset = 1.0},
                                          {Role::Out, 13, cols, 3},
                                          {Role::Out, 1, 13}},
                            .run = [](Ops& ops, const Views& v) {
                              ops.rms_norm(v[0], v[1], 1e-5, v[2], v[3]);
                              return 0.0;
                            }});
  }
}

TEST(CpuOps, AddsThenNormalises) {
  expect_like_the_oracle({.name = "add_rms_norm",
                          .arguments = {{Role::In, 13, 77, 1},
                                        {Role::In, 13, 77},
                                        {.cols = 77, .offset = 1.0},
                                        {Role::Out, 13, 77, 4},
                                        {Role::Out, 13, 77, 2},
                                        {Role::Out, 1, 13}},
                          .run = [](Ops& ops, const Views& v) {
                            ops.add_rms_norm(v[0], v[1], v[2], 1e-5, v[3], v[4], v[5]);
                            return 0.0;
                          }});
}

TEST(CpuOps, AddingInPlaceAndNormalisingGivesTheBitsOfTheTwoSteps) {
  on_each_instruction_set([] {
    const std::unique_ptr<Ops> ops = make_cpu_ops(2);
    Matrix x = Matrix::normal(11, 579, DType::F32, 1);
    Matrix x_again = Matrix::normal(11, 579, DType::F32, 1);
    Matrix delta = Matrix::normal(11, 579, DType::F32, 2);
    Matrix weight = Matrix::normal(1, 579, DType::F32, 3);
    Matrix y(11, 579, DType::F32);
    Matrix y_again(11, 579, DType::F32);
    Matrix rstd(1, 11, DType::F32);
    Matrix rstd_again(1, 11, DType::F32);
    ops->add_rms_norm(x.view(), delta.view(), weight.view(), 1e-5, x.view(), y.view(), rstd.view());
    ops->add(delta.view(), x_again.view());
    ops->rms_norm(x_again.view(), weight.view(), 1e-5, y_again.view(), rstd_again.view());
    EXPECT_TRUE(same_bits(x.view(), x_again.view()));
    EXPECT_TRUE(same_bits(y.view(), y_again.view()));
    EXPECT_TRUE(same_bits(rstd.view(), rstd_again.view()));
  });
}

TEST(CpuOps, NormBackwardAddsToTheInputGradient) {
  for (const bool accumulate : {false, true}) {
    expect_like_the_oracle({.name = "rms_norm_backward",
                            .arguments = {{Role::In, 29, 101, 1},
                                          {Role::In, 29, 101},
                                          {.cols = 101, .offset = 1.0},
                                          {.cols = 29, .deviation = 0.1, .offset = 1.0},
                                          {Role::InOut, 29, 101, 5},
                                          {accumulate ? Role::InOut : Role::Out, 1, 101}},
                            .run = [=](Ops& ops, const Views& v) {
                              ops.rms_norm_backward(v[0], v[1], v[2], v[3], v[4], v[5], accumulate);
                              return 0.0;
                            }});
  }
}

TEST(CpuOps, NormBackwardWithoutWeightGradientLeavesItOut) {
  expect_like_the_oracle({.name = "rms_norm_backward, frozen weight",
                          .arguments = {{Role::In, 5, 33},
                                        {Role::In, 5, 33},
                                        {.cols = 33, .offset = 1.0},
                                        {.cols = 5, .deviation = 0.1, .offset = 1.0},
                                        {Role::InOut, 5, 33}},
                          .run = [](Ops& ops, const Views& v) {
                            ops.rms_norm_backward(v[0], v[1], v[2], v[3], v[4], View{}, false);
                            return 0.0;
                          }});
}

// --- positions ----------------------------------------------------------------------------------

TEST(CpuOps, RotatesQueriesAndKeysButNotValues) {
  for (const std::int64_t width : {2, 6, 12, 64}) {
    const Heads heads{.query = 3, .key_value = 1, .width = width};
    const Sequences sequences{.count = 3, .length = 7};
    for (const bool inverse : {false, true}) {
      // All of a head, and the first two thirds of it.
      for (const std::int64_t rotated : {width, width / 3 * 2}) {
        expect_like_the_oracle(
            {.name = "rope " + std::to_string(rotated) + " of " + std::to_string(width),
             .arguments = {{Role::InOut, sequences.tokens(), heads.fused_cols(), 2},
                           {Role::In, 9, rotated}},
             .run = [=](Ops& ops, const Views& v) {
               ops.rope(v[0], heads, sequences, v[1], inverse);
               return 0.0;
             }});
      }
    }
  }
}

// --- embedding and head -------------------------------------------------------------------------

TEST(CpuOps, LooksUpRows) {
  const std::vector<std::int32_t> ids = random_ids(41, 17);
  expect_like_the_oracle({.name = "embed",
                          .arguments = {{Role::In, 17, 39, 1}, {Role::Out, 41, 39, 2}},
                          .run = [=](Ops& ops, const Views& v) {
                            ops.embed(ids, v[0], v[1]);
                            return 0.0;
                          }});
}

TEST(CpuOps, EmbeddingGradientSumsRepeatedIds) {
  const std::vector<std::int32_t> ids = random_ids(41, 5);
  expect_like_the_oracle({.name = "embed_backward",
                          .arguments = {{Role::In, 41, 39, 1}, {Role::InOut, 5, 39, 2}},
                          .run = [=](Ops& ops, const Views& v) {
                            ops.embed_backward(ids, v[0], v[1]);
                            return 0.0;
                          }});
}

TEST(CpuOps, GathersAndScattersRows) {
  const std::vector<std::int32_t> rows = {8, 2, 5, 0};
  expect_like_the_oracle({.name = "gather_rows",
                          .arguments = {{Role::In, 9, 21, 1}, {Role::Out, 4, 21, 2}},
                          .run = [=](Ops& ops, const Views& v) {
                            ops.gather_rows(v[0], rows, v[1]);
                            return 0.0;
                          }});
  expect_like_the_oracle({.name = "scatter_rows",
                          .arguments = {{Role::In, 4, 21, 1}, {Role::Out, 9, 21, 2}},
                          .run = [=](Ops& ops, const Views& v) {
                            ops.scatter_rows(v[0], rows, v[1]);
                            return 0.0;
                          }});
}

TEST(CpuOps, CrossEntropyGivesLossAndGradient) {
  for (const std::int64_t vocabulary : {1, 5, 257, 3001}) {
    for (const double deviation : {1.0, 50.0}) {
      const std::vector<std::int32_t> labels =
          random_ids(11, static_cast<std::uint64_t>(vocabulary));
      expect_like_the_oracle({.name = "cross_entropy " + std::to_string(vocabulary),
                              .arguments = {{Role::InOut, 11, vocabulary, 2, deviation}},
                              .run = [=](Ops& ops, const Views& v) {
                                return ops.cross_entropy(v[0], labels, 1.0 / 11.0);
                              }});
    }
  }
}

TEST(CpuOps, CrossEntropyTakesInfinitiesAndLargeLogits) {
  on_each_instruction_set([] {
    const std::unique_ptr<Ops> ops = make_cpu_ops(2);
    // Longer than one block, whose maximum is then minus infinity.
    Matrix logits(2, 2500, DType::F32);
    for (std::int64_t i = 0; i < 2 * 2500; ++i) {
      logits.set(i, -std::numeric_limits<double>::infinity());
    }
    logits.set(3, 3e38);
    logits.set(2500 + 2400, 10.0);
    logits.set(2500 + 2401, 10.0);
    const std::vector<std::int32_t> labels = {3, 2400};
    EXPECT_NEAR(ops->cross_entropy(logits.view(), labels, 1.0), std::log(2.0), 1e-6);
    EXPECT_EQ(logits.get(3), 0.0);
    EXPECT_EQ(logits.get(4), 0.0);
    EXPECT_EQ(logits.get(2500 + 2400), -0.5);
    EXPECT_EQ(logits.get(2500 + 2401), 0.5);
  });
}

TEST(CpuOps, CrossEntropyOfNotANumberIsNotANumber) {
  on_each_instruction_set([] {
    const std::unique_ptr<Ops> ops = make_cpu_ops(1);
    Matrix logits = Matrix::normal(1, 100, DType::F32, 1);
    logits.set(50, std::numeric_limits<double>::quiet_NaN());
    const std::vector<std::int32_t> labels = {0};
    EXPECT_TRUE(std::isnan(ops->cross_entropy(logits.view(), labels, 1.0)));
    EXPECT_TRUE(std::isnan(logits.get(99)));
  });
}

// --- element by element -------------------------------------------------------------------------

TEST(CpuOps, FillsCopiesAndAdds) {
  for (const std::int64_t padding : {0, 3}) {
    expect_like_the_oracle({.name = "fill",
                            .arguments = {{Role::Out, 17, 45, padding}},
                            .run = [](Ops& ops, const Views& v) {
                              ops.fill(v[0], 2.5);
                              return 0.0;
                            }});
    expect_like_the_oracle({.name = "copy",
                            .arguments = {{Role::In, 17, 45, padding}, {Role::Out, 17, 45}},
                            .run = [](Ops& ops, const Views& v) {
                              ops.copy(v[0], v[1]);
                              return 0.0;
                            }});
    expect_like_the_oracle({.name = "add",
                            .arguments = {{Role::In, 17, 45}, {Role::InOut, 17, 45, padding}},
                            .run = [](Ops& ops, const Views& v) {
                              ops.add(v[0], v[1]);
                              return 0.0;
                            }});
  }
}

TEST(CpuOps, ScalesAlsoInPlace) {
  for (const std::int64_t padding : {0, 3}) {
    expect_like_the_oracle({.name = "scale",
                            .arguments = {{Role::In, 17, 45, padding}, {Role::Out, 17, 45}},
                            .run = [](Ops& ops, const Views& v) {
                              ops.scale(0.22, v[0], v[1]);
                              return 0.0;
                            }});
    expect_like_the_oracle({.name = "scale in place",
                            .arguments = {{Role::InOut, 17, 45, padding}},
                            .run = [](Ops& ops, const Views& v) {
                              ops.scale(-3.5, v[0], v[0]);
                              return 0.0;
                            }});
  }
}

TEST(CpuOps, DropsTheSameElementsAsTheOracle) {
  // Widths around whole vectors, more blocks than are drawn at once, and an index that carries
  // from its lower half into its upper one in the middle of a row.
  for (const std::int64_t cols : {1, 5, 45, 576, 1100}) {
    const std::int64_t quarter = (cols + 3) / 4;
    for (const std::int64_t first_row : {std::int64_t{0}, (std::int64_t{1} << 32) / quarter - 1}) {
      const Dropout which{
          .probability = 0.3, .seed = 0x123456789abcU, .stream = 77, .first_row = first_row};
      for (const bool accumulate : {false, true}) {
        expect_like_the_oracle({.name = "dropout",
                                .arguments = {{Role::In, 7, cols, 3},
                                              {accumulate ? Role::InOut : Role::Out, 7, cols, 1}},
                                .run = [which, accumulate](Ops& ops, const Views& v) {
                                  ops.dropout(which, v[0], v[1], accumulate);
                                  return 0.0;
                                }});
      }
    }
  }
  expect_like_the_oracle({.name = "dropout in place",
                          .arguments = {{Role::InOut, 9, 33, 2}},
                          .run = [](Ops& ops, const Views& v) {
                            ops.dropout({.probability = 0.1, .seed = 1}, v[0], v[0], false);
                            return 0.0;
                          }});
}

TEST(CpuOps, CapsAlsoInPlace) {
  // Small numbers, where the cap does next to nothing, and such that reach it.
  for (const double deviation : {1e-3, 1.0, 60.0}) {
    expect_like_the_oracle(
        {.name = "soft_cap",
         .arguments = {{Role::In, 9, 45, 1, deviation}, {Role::Out, 9, 45}, {Role::InOut, 9, 45}},
         .run =
             [](Ops& ops, const Views& v) {
               ops.soft_cap(30.0, v[0], v[1]);
               ops.soft_cap_backward(30.0, v[1], v[2], v[2]);
               return 0.0;
             }},
        2e-5);
    expect_like_the_oracle({.name = "soft_cap in place",
                            .arguments = {{Role::InOut, 9, 45, 2, deviation}},
                            .run = [](Ops& ops, const Views& v) {
                              ops.soft_cap(30.0, v[0], v[0]);
                              return 0.0;
                            }});
  }
}

TEST(CpuOps, SumsSquares) {
  for (const std::int64_t padding : {0, 3}) {
    expect_like_the_oracle({.name = "sum_squares",
                            .arguments = {{Role::In, 11, 9001, padding}},
                            .run = [](Ops& ops, const Views& v) { return ops.sum_squares(v[0]); }},
                           1e-6);
  }
}

TEST(CpuOps, StepsLikeAdamw) {
  for (const std::int64_t step : {1, 30}) {
    expect_like_the_oracle(
        {.name = "adamw",
         .arguments = {{Role::InOut, 7, 163},
                       {Role::In, 7, 163},
                       {Role::InOut, 7, 163},
                       {Role::InOut, 7, 163, 0, 0.1, 1.0}},
         .run = [=](Ops& ops, const Views& v) {
           ops.adamw(
               v[0], v[1], v[2], v[3],
               {.learning_rate = 1e-2, .weight_decay = 0.1, .step = step, .gradient_scale = 0.5});
           return 0.0;
         }});
  }
}

TEST(CpuOps, MatricesWithoutRowsAreLeftAlone) {
  expect_like_the_oracle({.name = "no rows",
                          .arguments = {{Role::In, 0, 16},
                                        {.cols = 16},
                                        {Role::Out, 0, 16},
                                        {Role::Out, 1, 0},
                                        {Role::Out, 0, 8}},
                          .run = [](Ops& ops, const Views& v) {
                            ops.rms_norm(v[0], v[1], 1e-5, v[2], v[3]);
                            ops.gated(Activation::Silu, v[0], v[4]);
                            ops.gather_rows(v[1], {}, v[2]);
                            ops.add(v[0], v[2]);
                            return ops.sum_squares(v[0]) + ops.cross_entropy(v[2], {}, 1.0);
                          }});
}

// --- the backend itself -------------------------------------------------------------------------

TEST(CpuOps, SaysWhatItIs) {
  const std::unique_ptr<Ops> ops = make_cpu_ops(2);
  EXPECT_EQ(ops->name(), "cpu");
  EXPECT_EQ(ops->dtype(), DType::F32);
  EXPECT_EQ(ops->threads(), 2);
  EXPECT_GE(make_cpu_ops()->threads(), 1);
}

TEST(CpuOps, NamesTheInstructionSetThatRuns) {
  std::set<std::string> names;
  on_each_instruction_set([&] { names.insert(make_cpu_ops(1)->isa()); });
  EXPECT_THAT(names, testing::Contains("scalar"));
  EXPECT_THAT(names, testing::Contains(make_cpu_ops(1)->isa()));
  EXPECT_THAT(names, testing::IsSubsetOf({"avx512", "avx2", "neon", "scalar"}));
}

}  // namespace
}  // namespace tunebench::engine
