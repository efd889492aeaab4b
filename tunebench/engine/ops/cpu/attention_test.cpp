#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/ops/cpu/op_case.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {
namespace {

using Views = std::vector<View>;

struct Shape {
  Heads heads;
  Sequences sequences;
  double deviation = 1.0;
  Scoring scoring = {};
};

std::string text_of(const Shape& shape) {
  return "heads " + std::to_string(shape.heads.query) + "/" +
         std::to_string(shape.heads.key_value) + "x" + std::to_string(shape.heads.width) + ", " +
         std::to_string(shape.sequences.count) + "x" + std::to_string(shape.sequences.length);
}

// Forward and backward together, because the backward pass needs what the forward pass kept.
void expect_attention(const Shape& shape) {
  const std::int64_t tokens = shape.sequences.tokens();
  Scoring scoring = shape.scoring;
  scoring.scale = 1.0 / std::sqrt(static_cast<double>(shape.heads.width));
  expect_like_the_oracle(
      {.name = "attention " + text_of(shape),
       .arguments = {{Role::In, tokens, shape.heads.fused_cols(), 2, shape.deviation},
                     {Role::In, tokens, shape.heads.query_cols(), 1},
                     {Role::Out, tokens, shape.heads.query_cols(), 3},
                     {Role::Out, shape.heads.query, tokens, 1},
                     {Role::Out, tokens, shape.heads.fused_cols(), 4}},
       .run = [=](Ops& ops, const Views& v) {
         ops.attention(v[0], shape.heads, shape.sequences, scoring, v[2], v[3]);
         ops.attention_backward(v[1], v[0], v[2], v[3], shape.heads, shape.sequences, scoring,
                                v[4]);
         return 0.0;
       }});
}

TEST(CpuAttention, OneTokenSeesItself) {
  expect_attention({{1, 1, 8}, {1, 1}});
  expect_attention({{1, 1, 8}, {3, 1}});
}

TEST(CpuAttention, ShortSequencesWithSharedKeys) {
  expect_attention({{4, 2, 8}, {2, 17}});
  expect_attention({{6, 1, 12}, {1, 40}});
}

TEST(CpuAttention, LengthsAroundTheTileSizes) {
  for (const std::int64_t length : {63, 64, 65, 129}) {
    expect_attention({{2, 1, 16}, {1, length}});
  }
}

TEST(CpuAttention, HeadWidthsThatAreNoMultipleOfAVector) {
  for (const std::int64_t width : {1, 2, 10, 31, 64, 128}) {
    expect_attention({{2, 1, width}, {1, 70}});
  }
}

TEST(CpuAttention, NineHeadsOnThreeKeys) {
  expect_attention({{9, 3, 64}, {1, 200}});
}

TEST(CpuAttention, SequencesLongerThanOneRowOfTiles) {
  expect_attention({{1, 1, 8}, {1, 1100}});
}

TEST(CpuAttention, PeakedScores) {
  expect_attention({{2, 2, 16}, {1, 90}, 6.0});
}

TEST(CpuAttention, AWindowSeesTheLastPositionsOnly) {
  for (const std::int64_t window : {1, 2, 63, 64, 65, 200, 700}) {
    expect_attention({{2, 1, 16}, {1, 330}, 1.0, {.window = window}});
  }
  expect_attention({{6, 2, 8}, {2, 150}, 1.0, {.window = 20}});
  expect_attention({{1, 1, 8}, {1, 1500}, 1.0, {.window = 700}});
}

TEST(CpuAttention, CapsScores) {
  for (const double deviation : {0.1, 1.0, 6.0}) {
    expect_attention({{4, 2, 16}, {2, 90}, deviation, {.cap = 5.0}});
  }
  expect_attention({{2, 1, 16}, {1, 150}, 2.0, {.window = 40, .cap = 5.0}});
}

TEST(CpuAttention, AlibiTakesOffForTheDistance) {
  expect_attention({{4, 4, 16}, {2, 90}, 1.0, {.alibi = true}});
  expect_attention({{3, 1, 8}, {1, 700}, 1.0, {.alibi = true}});
  expect_attention({{2, 2, 8}, {1, 200}, 2.0, {.window = 30, .cap = 3.0, .alibi = true}});
}

TEST(CpuAttention, HeadsMayBeInterleaved) {
  expect_attention({{4, 4, 8, true}, {2, 17}});
  expect_attention({{3, 3, 16, true}, {1, 300}, 1.0, {.alibi = true}});
  expect_attention({{1, 1, 16, true}, {1, 300}, 1.0, {.window = 50}});
}

TEST(CpuAttention, AWindowBeyondTheSequenceChangesNothing) {
  on_each_instruction_set([] {
    const std::unique_ptr<Ops> ops = make_cpu_ops(2);
    const Heads heads{2, 1, 16};
    Matrix qkv = Matrix::normal(130, heads.fused_cols(), DType::F32, 1);
    Matrix dout = Matrix::normal(130, heads.query_cols(), DType::F32, 2);
    Matrix lse(2, 130, DType::F32);
    std::vector<Matrix> outs;
    std::vector<Matrix> gradients;
    for (const std::int64_t window : {0, 130}) {
      const Scoring scoring{.scale = 0.25, .window = window};
      outs.emplace_back(130, heads.query_cols(), DType::F32);
      gradients.emplace_back(130, heads.fused_cols(), DType::F32);
      ops->attention(qkv.view(), heads, {1, 130}, scoring, outs.back().view(), lse.view());
      ops->attention_backward(dout.view(), qkv.view(), outs.back().view(), lse.view(), heads,
                              {1, 130}, scoring, gradients.back().view());
    }
    EXPECT_EQ(relative_difference(outs[1].view(), outs[0].view()), 0.0);
    EXPECT_LT(relative_difference(gradients[1].view(), gradients[0].view()), 1e-6);
  });
}

TEST(CpuAttention, UsesTheWorkspaceItAskedFor) {
  const Shape shape{{3, 3, 8}, {2, 150}};
  const std::unique_ptr<Ops> given = make_cpu_ops(2);
  const std::unique_ptr<Ops> own = make_cpu_ops(2);
  const std::int64_t bytes = given->workspace_bytes({.sequences = shape.sequences,
                                                     .heads = shape.heads,
                                                     .widest = 3000,
                                                     .head_rows = 1,
                                                     .vocabulary = 1});
  Matrix workspace(1, bytes / 4 + 16, DType::F32);
  const auto misplaced = reinterpret_cast<std::uintptr_t>(workspace.view().data) / 4 % 16;
  given->use_workspace(
      workspace.view().col_range(static_cast<std::int64_t>(16 - misplaced) % 16, bytes / 4));
  // As wide as promised, then with one sequence, which is cut finer than two.
  for (const std::int64_t count : {2, 1}) {
    const Sequences sequences{count, shape.sequences.length};
    Matrix qkv = Matrix::normal(sequences.tokens(), shape.heads.fused_cols(), DType::F32, 1);
    Matrix dout = Matrix::normal(sequences.tokens(), shape.heads.query_cols(), DType::F32, 2);
    std::vector<Matrix> results;
    for (Ops* ops : {given.get(), own.get()}) {
      Matrix out(sequences.tokens(), shape.heads.query_cols(), DType::F32);
      Matrix lse(shape.heads.query, sequences.tokens(), DType::F32);
      results.emplace_back(sequences.tokens(), shape.heads.fused_cols(), DType::F32);
      ops->attention(qkv.view(), shape.heads, sequences, {.scale = 1.0}, out.view(), lse.view());
      ops->attention_backward(dout.view(), qkv.view(), out.view(), lse.view(), shape.heads,
                              sequences, {.scale = 1.0}, results.back().view());
    }
    EXPECT_EQ(relative_difference(results[0].view(), results[1].view()), 0.0);
  }
}

}  // namespace
}  // namespace tunebench::engine
