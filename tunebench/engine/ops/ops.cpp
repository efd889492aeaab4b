#include "tunebench/engine/ops/ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "tunebench/base/error.h"

namespace tunebench::engine {
namespace {

class PlanningOps final : public Ops {
 public:
  explicit PlanningOps(DType dtype) : dtype_(dtype) {}

  [[nodiscard]] std::string_view name() const override { return "planning"; }
  [[nodiscard]] std::string isa() const override { return "none"; }
  [[nodiscard]] DType dtype() const override { return dtype_; }
  [[nodiscard]] int threads() const override { return 1; }

  void gemm(bool, bool, View, View, View, bool) override {}
  void add_bias(View, View) override {}
  void bias_backward(View, View, bool) override {}
  void rms_norm(View, NormWeight, double, View, View) override {}
  void add_rms_norm(View, View, NormWeight, double, View, View, View) override {}
  void rms_norm_backward(View, View, NormWeight, View, View, View, bool) override {}
  void layer_norm(View, View, View, double, View, View) override {}
  void add_layer_norm(View, View, View, View, double, View, View, View) override {}
  void layer_norm_backward(View, View, View, View, View, View, View, bool) override {}
  void head_norm(View, NormWeight, double, View, View) override {}
  void head_norm_backward(View, View, NormWeight, View, View, View, bool) override {}
  void rope(View, Heads, Sequences, View, bool) override {}
  void attention(View, Heads, Sequences, const Scoring&, View, View) override {}
  void attention_backward(View, View, View, View, Heads, Sequences, const Scoring&, View) override {
  }
  void gated(Activation, View, View) override {}
  void gated_backward(Activation, View, View, View) override {}
  void activate(Activation, View, View) override {}
  void activate_backward(Activation, View, View, View) override {}
  void choose_experts(View, bool, View, const Visits&) override {}
  void choose_experts_backward(View, View, const Visits&, bool, const RouterPull&, View) override {}
  void add_expert_load(View, const Visits&, const RealTokens&, View) override {}
  double expert_balance(View, std::int64_t, double, View) override { return 0; }
  void sum_visits(View, const Visits&, View, bool) override {}
  void expert_products(bool, View, View, const Visits&, View) override {}
  void expert_weight_gradients(View, View, const Visits&, View, bool) override {}
  void weighted_gated(Activation, View, View, View) override {}
  void weighted_gated_backward(Activation, View, View, View, View, View) override {}
  void sigmoid(View, View) override {}
  void sigmoid_backward(View, View, View) override {}
  void embed(std::span<const std::int32_t>, View, View) override {}
  void embed_backward(std::span<const std::int32_t>, View, View) override {}
  void gather_rows(View, std::span<const std::int32_t>, View) override {}
  void scatter_rows(View, std::span<const std::int32_t>, View) override {}
  double cross_entropy(View, std::span<const std::int32_t>, double) override { return 0; }
  void fill(View, double) override {}
  void copy(View, View) override {}
  void add(View, View) override {}
  void scale(double, View, View) override {}
  void soft_cap(double, View, View) override {}
  void soft_cap_backward(double, View, View, View) override {}
  double sum_squares(View) override { return 0; }
  void dropout(const Dropout&, View, View, bool) override {}
  void adamw(View, View, View, View, const AdamwStep&) override {}

 private:
  DType dtype_;
};

}  // namespace

// Out of line, so that the class's tables are made once, here.
Ops::~Ops() = default;

double alibi_slope(std::int64_t head, std::int64_t heads) {
  const auto whole = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  const auto series = [](std::int64_t count, std::int64_t member) {
    return std::exp2(-8.0 * static_cast<double>(member) / static_cast<double>(count));
  };
  return head < whole ? series(whole, head + 1) : series(2 * whole, 2 * (head - whole) + 1);
}

std::uint32_t Dropout::threshold() const {
  TB_CHECK(probability >= 0.0 && probability < 1.0);
  constexpr double kWords = 4294967296.0;
  return static_cast<std::uint32_t>(std::min(probability * kWords, kWords - 1.0));
}

std::int64_t RealTokens::count() const {
  return lengths.empty() ? sequences.tokens()
                         : std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

std::int64_t Ops::workspace_bytes(const Extents& /*largest*/) const {
  return 0;
}

std::unique_ptr<Ops> make_planning_ops(DType dtype) {
  return std::make_unique<PlanningOps>(dtype);
}

}  // namespace tunebench::engine
