#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
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

constexpr std::array kActivations = {Activation::Silu, Activation::GeluTanh, Activation::Gelu};

TEST(CpuActivation, GatesWithEachActivation) {
  for (const Activation activation : kActivations) {
    for (const std::int64_t cols : {1, 19, 96}) {
      expect_like_the_oracle(
          {.name = "gated",
           .arguments = {{Role::In, 9, 2 * cols, 1, 4.0}, {Role::Out, 9, cols, 2}},
           .run = [=](Ops& ops, const Views& v) {
             ops.gated(activation, v[0], v[1]);
             return 0.0;
           }});
    }
  }
}

TEST(CpuActivation, GateGradientMayReplaceItsInput) {
  for (const Activation activation : kActivations) {
    expect_like_the_oracle(
        {.name = "gated_backward",
         .arguments = {{Role::In, 9, 2 * 37, 0, 4.0}, {Role::In, 9, 37, 1}, {Role::Out, 9, 2 * 37}},
         .run = [=](Ops& ops, const Views& v) {
           ops.gated_backward(activation, v[0], v[1], v[2]);
           return 0.0;
         }});
    expect_like_the_oracle({.name = "gated_backward in place",
                            .arguments = {{Role::InOut, 9, 2 * 37, 3, 4.0}, {Role::In, 9, 37}},
                            .run = [=](Ops& ops, const Views& v) {
                              ops.gated_backward(activation, v[0], v[1], v[0]);
                              return 0.0;
                            }});
  }
}

TEST(CpuActivation, ActivatesWithoutAGateAlsoInPlace) {
  for (const Activation activation : kActivations) {
    for (const std::int64_t padding : {0, 3}) {
      expect_like_the_oracle({.name = "activate and backward in place",
                              .arguments = {{Role::InOut, 9, 37, padding, 4.0},
                                            {Role::Out, 9, 37, padding},
                                            {Role::In, 9, 37}},
                              .run = [=](Ops& ops, const Views& v) {
                                ops.activate(activation, v[0], v[1]);
                                ops.activate_backward(activation, v[0], v[2], v[0]);
                                return 0.0;
                              }});
    }
  }
}

TEST(CpuActivation, IsRightAtEachPlace) {
  const std::unique_ptr<Ops> exact = make_ref_ops(DType::F64);
  on_each_instruction_set([&] {
    const std::unique_ptr<Ops> ops = make_cpu_ops(1);
    constexpr std::int64_t kPlaces = 4001;
    Matrix x(1, kPlaces, DType::F32);
    Matrix wide_x(1, kPlaces, DType::F64);
    for (std::int64_t i = 0; i < kPlaces; ++i) {
      x.set(i, -10.0 + 0.005 * static_cast<double>(i));
      wide_x.set(i, x.get(i));
    }
    for (const Activation activation : kActivations) {
      Matrix y(1, kPlaces, DType::F32);
      Matrix wide_y(1, kPlaces, DType::F64);
      ops->activate(activation, x.view(), y.view());
      exact->activate(activation, wide_x.view(), wide_y.view());
      double worst = 0;
      for (std::int64_t i = 0; i < kPlaces; ++i) {
        worst = std::max(
            worst, std::abs(y.get(i) - wide_y.get(i)) / std::max(1.0, std::abs(wide_y.get(i))));
      }
      EXPECT_LT(worst, 1e-6);
    }
  });
}

TEST(CpuActivation, FarFromZeroStaysFinite) {
  on_each_instruction_set([] {
    const std::unique_ptr<Ops> ops = make_cpu_ops(1);
    for (const Activation activation : kActivations) {
      Matrix gate_up(1, 8, DType::F32);
      const std::vector<double> far = {-1000.0, -100.0, 100.0, 1000.0};
      for (std::int64_t i = 0; i < 4; ++i) {
        gate_up.set(i, far[static_cast<std::size_t>(i)]);
        gate_up.set(4 + i, 1.0);
      }
      Matrix h(1, 4, DType::F32);
      ops->gated(activation, gate_up.view(), h.view());
      EXPECT_NEAR(h.get(0), 0.0, 1e-30);
      EXPECT_NEAR(h.get(1), 0.0, 1e-30);
      EXPECT_EQ(h.get(2), 100.0);
      EXPECT_EQ(h.get(3), 1000.0);
      Matrix dh(1, 4, DType::F32);
      ops->fill(dh.view(), 1.0);
      ops->gated_backward(activation, gate_up.view(), dh.view(), gate_up.view());
      EXPECT_NEAR(gate_up.get(0), 0.0, 1e-30);
      EXPECT_NEAR(gate_up.get(3), 1.0, 1e-6);
    }
  });
}

}  // namespace
}  // namespace tunebench::engine
