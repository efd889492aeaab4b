#include "tunebench/engine/nn/rope_table.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tunebench/engine/core/matrix.h"

namespace tunebench::engine {
namespace {

model::ModelSpec rope_spec(double theta, const model::RopeScaling& scaling = {}) {
  model::ModelSpec spec;
  spec.head_width = 4;
  spec.rope_theta = theta;
  spec.rope_scaling = scaling;
  return spec;
}

TEST(RopeTableTest, HoldsCosinesThenSinesOfEachPosition) {
  Matrix table(3, 4, DType::F64);
  fill_rope_table(rope_spec(100.0), 0, table.view());
  EXPECT_EQ(table.get(0), 1.0);
  EXPECT_EQ(table.get(2), 0.0);
  EXPECT_DOUBLE_EQ(table.get(2 * 4 + 0), std::cos(2.0));
  EXPECT_DOUBLE_EQ(table.get(2 * 4 + 1), std::cos(0.2));
  EXPECT_DOUBLE_EQ(table.get(2 * 4 + 3), std::sin(0.2));
}

TEST(RopeTableTest, FollowsTheScalingOfTheModel) {
  Matrix table(2, 4, DType::F64);
  fill_rope_table(rope_spec(100.0, {.type = model::RopeScaling::Type::Linear, .factor = 4.0}), 0,
                  table.view());
  EXPECT_DOUBLE_EQ(table.get(4 + 0), std::cos(0.25));
  EXPECT_DOUBLE_EQ(table.get(4 + 3), std::sin(0.025));
}

TEST(RopeTableTest, IsRoundedToFloat32FromDouble) {
  Matrix table(1000, 4, DType::F32);
  fill_rope_table(rope_spec(100.0), 0, table.view());
  EXPECT_EQ(table.view().f32()[999 * 4], static_cast<float>(std::cos(999.0)));
}

}  // namespace
}  // namespace tunebench::engine
