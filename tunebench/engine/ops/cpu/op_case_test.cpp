#include "tunebench/engine/ops/cpu/op_case.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "tunebench/base/random.h"
#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"

namespace tunebench::engine {
namespace {

constexpr float kPadding = 12345.0F;

/// The arguments of a case in one backend's dtype.
class Filled {
 public:
  Filled(const OpCase& op_case, DType dtype) {
    std::uint64_t stream = 0;
    for (const Argument& argument : op_case.arguments) {
      memory_.emplace_back(argument.rows + 1, argument.cols + argument.padding, dtype);
      View view = memory_.back().view();
      for (std::int64_t i = 0; i < view.elements(); ++i) {
        Matrix::set_element(view, i, double{kPadding});
      }
      view.rows = argument.rows;
      view.cols = argument.cols;
      ++stream;
      for (std::int64_t i = 0; i < view.elements(); ++i) {
        const double drawn = normal(7, stream, static_cast<std::uint64_t>(i));
        // Rounded, so that every backend starts from the same numbers.
        const auto value = static_cast<float>(argument.offset + argument.deviation * drawn);
        Matrix::set_element(
            view, i,
            argument.role == Role::Out ? std::numeric_limits<double>::quiet_NaN() : double{value});
      }
      views_.push_back(view);
    }
  }

  [[nodiscard]] const std::vector<View>& views() const { return views_; }
  /// All memory of argument `i`, padding and the row behind the last included.
  [[nodiscard]] View whole(std::size_t i) { return memory_[i].view(); }

 private:
  std::vector<Matrix> memory_;
  std::vector<View> views_;
};

bool equal_bits(View a, View b) {
  return std::memcmp(a.data, b.data, static_cast<std::size_t>(a.elements()) * sizeof(float)) == 0;
}

void expect_padding_untouched(View whole, const Argument& argument) {
  for (std::int64_t row = 0; row < whole.rows; ++row) {
    const std::int64_t first = row < argument.rows ? argument.cols : 0;
    for (std::int64_t col = first; col < whole.cols; ++col) {
      ASSERT_EQ(whole.f32()[row * whole.stride + col], kPadding) << "row " << row << " col " << col;
    }
  }
}

void compare(const OpCase& op_case, Ops& ops, const std::vector<View>& expected,
             double expected_value, double tolerance) {
  Filled fresh(op_case, DType::F32);
  Filled first(op_case, DType::F32);
  Filled second(op_case, DType::F32);
  const double value = op_case.run(ops, first.views());
  EXPECT_EQ(op_case.run(ops, second.views()), value) << "not repeatable";
  EXPECT_LE(std::abs(value - expected_value), tolerance * std::abs(expected_value));
  for (std::size_t i = 0; i < op_case.arguments.size(); ++i) {
    SCOPED_TRACE("argument " + std::to_string(i));
    const Argument& argument = op_case.arguments[i];
    EXPECT_TRUE(equal_bits(first.whole(i), second.whole(i))) << "not repeatable";
    expect_padding_untouched(first.whole(i), argument);
    if (argument.role == Role::In) {
      EXPECT_TRUE(equal_bits(first.whole(i), fresh.whole(i))) << "an input was written";
    } else {
      EXPECT_LT(relative_difference(first.views()[i], expected[i]), tolerance);
    }
  }
}

}  // namespace

void expect_like_the_oracle(const OpCase& op_case, double tolerance) {
  SCOPED_TRACE(op_case.name);
  Filled expected(op_case, DType::F64);
  const std::unique_ptr<Ops> ref = make_ref_ops(DType::F64);
  const double expected_value = op_case.run(*ref, expected.views());
  on_each_instruction_set([&] {
    for (const int threads : {1, 2, 3}) {
      const std::unique_ptr<Ops> ops = make_cpu_ops(threads);
      SCOPED_TRACE(ops->isa() + ", threads " + std::to_string(threads));
      compare(op_case, *ops, expected.views(), expected_value, tolerance);
    }
  });
}

void on_each_instruction_set(const std::function<void()>& body) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace tunebench::engine
