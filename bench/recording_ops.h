#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/engine/ops/ops.h"

namespace tunebench::bench {

/// One matrix product as the step asked for it.
struct RecordedProduct {
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t inner = 0;
  bool operator==(const RecordedProduct&) const = default;
};

/// One attention call.
struct RecordedAttention {
  bool backward = false;
  engine::Heads heads;
  engine::Sequences sequences;
  std::int64_t window = 0;
};

/// The products of all experts of one call.
struct RecordedExperts {
  enum class Kind { Forward, Input, Weight };
  Kind kind = Kind::Forward;
  std::vector<std::int32_t> begins;  ///< of each expert's visits, and their number
  std::int64_t outputs = 0;          ///< rows of one expert's matrix
  std::int64_t inputs = 0;           ///< its columns
  bool accumulate = false;
};

/// Passes every call on, keeps which products were asked for and how long each kind of operation
/// took. So the roof is made of what a step really computes, whatever the model or the recompute
/// rung.
class RecordingOps final : public engine::Ops {
 public:
  using View = engine::View;
  using Heads = engine::Heads;
  using Sequences = engine::Sequences;
  using Scoring = engine::Scoring;
  using NormWeight = engine::NormWeight;
  using Activation = engine::Activation;
  using Visits = engine::Visits;
  using Ids = std::span<const std::int32_t>;

  explicit RecordingOps(std::unique_ptr<engine::Ops> inner) : inner_(std::move(inner)) {}

  enum class Kind {
    Product,
    Attention,
    Norm,
    Rope,
    Activation,
    Routing,
    CrossEntropy,
    Rows,
    Elements,
    Adamw
  };
  static constexpr std::size_t kKinds = 10;
  static std::string_view kind_name(std::size_t kind);

  /// Forgets what was recorded; keeps its memory.
  void restart();
  [[nodiscard]] const std::vector<RecordedProduct>& products() const { return products_; }
  [[nodiscard]] const std::vector<RecordedAttention>& attentions() const { return attentions_; }
  [[nodiscard]] const std::vector<RecordedExperts>& experts() const { return experts_; }
  [[nodiscard]] const std::array<double, kKinds>& seconds() const { return seconds_; }
  [[nodiscard]] engine::Ops& inner() { return *inner_; }

  [[nodiscard]] std::string_view name() const override { return inner_->name(); }
  [[nodiscard]] std::string isa() const override { return inner_->isa(); }
  [[nodiscard]] engine::DType dtype() const override { return inner_->dtype(); }
  [[nodiscard]] int threads() const override { return inner_->threads(); }
  [[nodiscard]] std::int64_t workspace_bytes(const engine::Extents& largest) const override {
    return inner_->workspace_bytes(largest);
  }

  void gemm(bool transpose_a, bool transpose_b, View a, View b, View c, bool accumulate) override;
  void add_bias(View bias, View y) override;
  void bias_backward(View dy, View dbias, bool accumulate) override;
  void rms_norm(View x, NormWeight weight, double epsilon, View y, View rstd) override;
  void add_rms_norm(View x, View delta, NormWeight weight, double epsilon, View sum, View y,
                    View rstd) override;
  void rms_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx, View dweight,
                         bool accumulate) override;
  void layer_norm(View x, View weight, View bias, double epsilon, View y, View stats) override;
  void add_layer_norm(View x, View delta, View weight, View bias, double epsilon, View sum, View y,
                      View stats) override;
  void layer_norm_backward(View dy, View x, View weight, View stats, View dx, View dweight,
                           View dbias, bool accumulate) override;
  void head_norm(View x, NormWeight weight, double epsilon, View y, View rstd) override;
  void head_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx, View dweight,
                          bool accumulate) override;
  void rope(View qkv, Heads heads, Sequences sequences, View table, bool inverse) override;
  void attention(View qkv, Heads heads, Sequences sequences, const Scoring& scoring, View out,
                 View lse) override;
  void attention_backward(View dout, View qkv, View out, View lse, Heads heads, Sequences sequences,
                          const Scoring& scoring, View dqkv) override;
  void gated(Activation activation, View gate_up, View h) override;
  void gated_backward(Activation activation, View gate_up, View dh, View dgate_up) override;
  void activate(Activation activation, View x, View y) override;
  void activate_backward(Activation activation, View x, View dy, View dx) override;
  void choose_experts(View logits, bool renormalise, View weights, const Visits& visits) override;
  void choose_experts_backward(View dweights, View probabilities, const Visits& visits,
                               bool renormalise, const engine::RouterPull& pull,
                               View dlogits) override;
  void add_expert_load(View probabilities, const Visits& visits, const engine::RealTokens& real,
                       View load) override;
  double expert_balance(View load, std::int64_t rows, double gradient_scale,
                        View gradient) override;
  void sum_visits(View in, const Visits& visits, View out, bool accumulate) override;
  void expert_products(bool transpose_w, View x, View w, const Visits& visits, View y) override;
  void expert_weight_gradients(View dy, View x, const Visits& visits, View dw,
                               bool accumulate) override;
  void weighted_gated(Activation activation, View gate_up, View weights, View h) override;
  void weighted_gated_backward(Activation activation, View gate_up, View weights, View dh,
                               View dgate_up, View dweights) override;
  void sigmoid(View x, View y) override;
  void sigmoid_backward(View y, View dy, View dx) override;
  void embed(Ids ids, View table, View out) override;
  void embed_backward(Ids ids, View dout, View dtable) override;
  void gather_rows(View x, Ids rows, View out) override;
  void scatter_rows(View in, Ids rows, View x) override;
  double cross_entropy(View logits, Ids labels, double gradient_scale) override;
  void fill(View x, double value) override;
  void copy(View from, View to) override;
  void add(View x, View y) override;
  void scale(double factor, View x, View y) override;
  void soft_cap(double cap, View x, View y) override;
  void soft_cap_backward(double cap, View y, View dy, View dx) override;
  double sum_squares(View x) override;
  void dropout(const engine::Dropout& which, View x, View y, bool accumulate) override;
  void adamw(View parameters, View gradients, View first_moment, View second_moment,
             const engine::AdamwStep& step) override;

 private:
  template <typename Call>
  auto timed(Kind kind, Call call);
  void record_experts(RecordedExperts::Kind kind, View w, const Visits& visits, bool accumulate);

  std::unique_ptr<engine::Ops> inner_;
  std::vector<RecordedProduct> products_;
  std::vector<RecordedAttention> attentions_;
  std::vector<RecordedExperts> experts_;
  std::array<double, kKinds> seconds_{};
};

}  // namespace tunebench::bench
