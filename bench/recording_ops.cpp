#include "bench/recording_ops.h"

#include <chrono>
#include <span>
#include <type_traits>
#include <utility>

namespace tunebench::bench {

std::string_view RecordingOps::kind_name(std::size_t kind) {
  constexpr std::array<std::string_view, kKinds> kNames = {
      "products", "attention",     "norm", "rope",     "activation",
      "routing",  "cross_entropy", "rows", "elements", "adamw"};
  return kNames[kind];
}

void RecordingOps::restart() {
  products_.clear();
  attentions_.clear();
  experts_.clear();
  seconds_.fill(0.0);
}

template <typename Call>
auto RecordingOps::timed(Kind kind, Call call) {
  inner_->use_workspace(workspace_);
  const auto begin = std::chrono::steady_clock::now();
  const auto stop = [&] {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    seconds_[static_cast<std::size_t>(kind)] += taken.count();
  };
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    stop();
  } else {
    const auto result = call();
    stop();
    return result;
  }
}

void RecordingOps::gemm(bool transpose_a, bool transpose_b, View a, View b, View c,
                        bool accumulate) {
  products_.push_back({.transpose_a = transpose_a,
                       .transpose_b = transpose_b,
                       .accumulate = accumulate,
                       .rows = c.rows,
                       .cols = c.cols,
                       .inner = transpose_a ? a.rows : a.cols});
  timed(Kind::Product, [&] { inner_->gemm(transpose_a, transpose_b, a, b, c, accumulate); });
}

void RecordingOps::add_bias(View bias, View y) {
  timed(Kind::Elements, [&] { inner_->add_bias(bias, y); });
}

void RecordingOps::bias_backward(View dy, View dbias, bool accumulate) {
  timed(Kind::Elements, [&] { inner_->bias_backward(dy, dbias, accumulate); });
}

void RecordingOps::rms_norm(View x, NormWeight weight, double epsilon, View y, View rstd) {
  timed(Kind::Norm, [&] { inner_->rms_norm(x, weight, epsilon, y, rstd); });
}

void RecordingOps::add_rms_norm(View x, View delta, NormWeight weight, double epsilon, View sum,
                                View y, View rstd) {
  timed(Kind::Norm, [&] { inner_->add_rms_norm(x, delta, weight, epsilon, sum, y, rstd); });
}

void RecordingOps::rms_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx,
                                     View dweight, bool accumulate) {
  timed(Kind::Norm,
        [&] { inner_->rms_norm_backward(dy, x, weight, rstd, dx, dweight, accumulate); });
}

void RecordingOps::layer_norm(View x, View weight, View bias, double epsilon, View y, View stats) {
  timed(Kind::Norm, [&] { inner_->layer_norm(x, weight, bias, epsilon, y, stats); });
}

void RecordingOps::add_layer_norm(View x, View delta, View weight, View bias, double epsilon,
                                  View sum, View y, View stats) {
  timed(Kind::Norm,
        [&] { inner_->add_layer_norm(x, delta, weight, bias, epsilon, sum, y, stats); });
}

void RecordingOps::layer_norm_backward(View dy, View x, View weight, View stats, View dx,
                                       View dweight, View dbias, bool accumulate) {
  timed(Kind::Norm,
        [&] { inner_->layer_norm_backward(dy, x, weight, stats, dx, dweight, dbias, accumulate); });
}

void RecordingOps::head_norm(View x, NormWeight weight, double epsilon, View y, View rstd) {
  timed(Kind::Norm, [&] { inner_->head_norm(x, weight, epsilon, y, rstd); });
}

void RecordingOps::head_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx,
                                      View dweight, bool accumulate) {
  timed(Kind::Norm,
        [&] { inner_->head_norm_backward(dy, x, weight, rstd, dx, dweight, accumulate); });
}

void RecordingOps::rope(View qkv, Heads heads, Sequences sequences, View table, bool inverse) {
  timed(Kind::Rope, [&] { inner_->rope(qkv, heads, sequences, table, inverse); });
}

void RecordingOps::attention(View qkv, Heads heads, Sequences sequences, const Scoring& scoring,
                             View out, View lse) {
  attentions_.push_back({false, heads, sequences, scoring.window});
  timed(Kind::Attention, [&] { inner_->attention(qkv, heads, sequences, scoring, out, lse); });
}

void RecordingOps::attention_backward(View dout, View qkv, View out, View lse, Heads heads,
                                      Sequences sequences, const Scoring& scoring, View dqkv) {
  attentions_.push_back({true, heads, sequences, scoring.window});
  timed(Kind::Attention,
        [&] { inner_->attention_backward(dout, qkv, out, lse, heads, sequences, scoring, dqkv); });
}

void RecordingOps::gated(Activation activation, View gate_up, View h) {
  timed(Kind::Activation, [&] { inner_->gated(activation, gate_up, h); });
}

void RecordingOps::gated_backward(Activation activation, View gate_up, View dh, View dgate_up) {
  timed(Kind::Activation, [&] { inner_->gated_backward(activation, gate_up, dh, dgate_up); });
}

void RecordingOps::activate(Activation activation, View x, View y) {
  timed(Kind::Activation, [&] { inner_->activate(activation, x, y); });
}

void RecordingOps::activate_backward(Activation activation, View x, View dy, View dx) {
  timed(Kind::Activation, [&] { inner_->activate_backward(activation, x, dy, dx); });
}

void RecordingOps::choose_experts(View logits, bool renormalise, View weights,
                                  const Visits& visits) {
  timed(Kind::Routing, [&] { inner_->choose_experts(logits, renormalise, weights, visits); });
}

void RecordingOps::choose_experts_backward(View dweights, View probabilities, const Visits& visits,
                                           bool renormalise, const engine::RouterPull& pull,
                                           View dlogits) {
  timed(Kind::Routing, [&] {
    inner_->choose_experts_backward(dweights, probabilities, visits, renormalise, pull, dlogits);
  });
}

void RecordingOps::add_expert_load(View probabilities, const Visits& visits,
                                   const engine::RealTokens& real, View load) {
  timed(Kind::Routing, [&] { inner_->add_expert_load(probabilities, visits, real, load); });
}

double RecordingOps::expert_balance(View load, std::int64_t rows, double gradient_scale,
                                    View gradient) {
  return timed(Kind::Routing,
               [&] { return inner_->expert_balance(load, rows, gradient_scale, gradient); });
}

void RecordingOps::sum_visits(View in, const Visits& visits, View out, bool accumulate) {
  timed(Kind::Rows, [&] { inner_->sum_visits(in, visits, out, accumulate); });
}

void RecordingOps::record_experts(RecordedExperts::Kind kind, View w, const Visits& visits,
                                  bool accumulate) {
  const std::int32_t* const begins = visits.begins.i32();
  experts_.push_back({.kind = kind,
                      .begins = {begins, begins + visits.begins.cols},
                      .outputs = w.rows / visits.experts_count(),
                      .inputs = w.cols,
                      .accumulate = accumulate});
}

void RecordingOps::expert_products(bool transpose_w, View x, View w, const Visits& visits, View y) {
  record_experts(transpose_w ? RecordedExperts::Kind::Forward : RecordedExperts::Kind::Input, w,
                 visits, false);
  timed(Kind::Product, [&] { inner_->expert_products(transpose_w, x, w, visits, y); });
}

void RecordingOps::expert_weight_gradients(View dy, View x, const Visits& visits, View dw,
                                           bool accumulate) {
  record_experts(RecordedExperts::Kind::Weight, dw, visits, accumulate);
  timed(Kind::Product, [&] { inner_->expert_weight_gradients(dy, x, visits, dw, accumulate); });
}

void RecordingOps::weighted_gated(Activation activation, View gate_up, View weights, View h) {
  timed(Kind::Activation, [&] { inner_->weighted_gated(activation, gate_up, weights, h); });
}

void RecordingOps::weighted_gated_backward(Activation activation, View gate_up, View weights,
                                           View dh, View dgate_up, View dweights) {
  timed(Kind::Activation, [&] {
    inner_->weighted_gated_backward(activation, gate_up, weights, dh, dgate_up, dweights);
  });
}

void RecordingOps::sigmoid(View x, View y) {
  timed(Kind::Elements, [&] { inner_->sigmoid(x, y); });
}

void RecordingOps::sigmoid_backward(View y, View dy, View dx) {
  timed(Kind::Elements, [&] { inner_->sigmoid_backward(y, dy, dx); });
}

void RecordingOps::embed(Ids ids, View table, View out) {
  timed(Kind::Rows, [&] { inner_->embed(ids, table, out); });
}

void RecordingOps::embed_backward(Ids ids, View dout, View dtable) {
  timed(Kind::Rows, [&] { inner_->embed_backward(ids, dout, dtable); });
}

void RecordingOps::gather_rows(View x, Ids rows, View out) {
  timed(Kind::Rows, [&] { inner_->gather_rows(x, rows, out); });
}

void RecordingOps::scatter_rows(View in, Ids rows, View x) {
  timed(Kind::Rows, [&] { inner_->scatter_rows(in, rows, x); });
}

double RecordingOps::cross_entropy(View logits, Ids labels, double gradient_scale) {
  return timed(Kind::CrossEntropy,
               [&] { return inner_->cross_entropy(logits, labels, gradient_scale); });
}

void RecordingOps::fill(View x, double value) {
  timed(Kind::Elements, [&] { inner_->fill(x, value); });
}

void RecordingOps::copy(View from, View to) {
  timed(Kind::Elements, [&] { inner_->copy(from, to); });
}

void RecordingOps::add(View x, View y) {
  timed(Kind::Elements, [&] { inner_->add(x, y); });
}

void RecordingOps::scale(double factor, View x, View y) {
  timed(Kind::Elements, [&] { inner_->scale(factor, x, y); });
}

void RecordingOps::soft_cap(double cap, View x, View y) {
  timed(Kind::Elements, [&] { inner_->soft_cap(cap, x, y); });
}

void RecordingOps::soft_cap_backward(double cap, View y, View dy, View dx) {
  timed(Kind::Elements, [&] { inner_->soft_cap_backward(cap, y, dy, dx); });
}

double RecordingOps::sum_squares(View x) {
  return timed(Kind::Elements, [&] { return inner_->sum_squares(x); });
}

void RecordingOps::dropout(const engine::Dropout& which, View x, View y, bool accumulate) {
  timed(Kind::Elements, [&] { inner_->dropout(which, x, y, accumulate); });
}

void RecordingOps::adamw(View parameters, View gradients, View first_moment, View second_moment,
                         const engine::AdamwStep& step) {
  timed(Kind::Adamw,
        [&] { inner_->adamw(parameters, gradients, first_moment, second_moment, step); });
}

}  // namespace tunebench::bench
