// The oracle: every operation as its formula reads, loops in the order of the formula, sums in
// double. Nothing here is made fast; what is fast is compared with this.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/base/random.h"
#include "tunebench/engine/ops/ops.h"
#include "tunebench/engine/ops/ref/activations.h"
#include "tunebench/engine/ops/ref/attention_loops.h"
#include "tunebench/engine/ops/ref/expert_loops.h"
#include "tunebench/engine/ops/ref/loops.h"
#include "tunebench/engine/ops/ref/norm_loops.h"

namespace tunebench::engine {
namespace {

using ref::Activated;
using ref::activated;
using ref::dot;
using ref::has_shape;
using ref::row;
using ref::same_shape;
using ref::store;

template <typename T>
class RefOps final : public Ops {
 public:
  [[nodiscard]] std::string_view name() const override { return "ref"; }
  [[nodiscard]] std::string isa() const override { return "scalar"; }
  [[nodiscard]] DType dtype() const override { return sizeof(T) == 8 ? DType::F64 : DType::F32; }
  [[nodiscard]] int threads() const override { return 1; }

  void gemm(bool transpose_a, bool transpose_b, View a, View b, View c, bool accumulate) override {
    const std::int64_t inner = transpose_a ? a.rows : a.cols;
    TB_DCHECK(has_shape(a, transpose_a ? inner : c.rows, transpose_a ? c.rows : inner));
    TB_DCHECK(has_shape(b, transpose_b ? c.cols : inner, transpose_b ? inner : c.cols));
    const std::int64_t a_step = transpose_a ? a.stride : 1;
    const std::int64_t b_step = transpose_b ? 1 : b.stride;
    for (std::int64_t m = 0; m < c.rows; ++m) {
      for (std::int64_t n = 0; n < c.cols; ++n) {
        const T* const left = a.as<T>() + (transpose_a ? m : m * a.stride);
        const T* const right = b.as<T>() + (transpose_b ? n * b.stride : n);
        double sum = 0;
        for (std::int64_t k = 0; k < inner; ++k) {
          sum += double{left[k * a_step]} * double{right[k * b_step]};
        }
        store(row<T>(c, m)[n], sum, accumulate);
      }
    }
  }

  void add_bias(View bias, View y) override {
    TB_DCHECK(has_shape(bias, 1, y.cols));
    for (std::int64_t t = 0; t < y.rows; ++t) {
      for (std::int64_t j = 0; j < y.cols; ++j) {
        row<T>(y, t)[j] += bias.as<T>()[j];
      }
    }
  }

  void bias_backward(View dy, View dbias, bool accumulate) override {
    TB_DCHECK(has_shape(dbias, 1, dy.cols));
    for (std::int64_t j = 0; j < dy.cols; ++j) {
      double sum = 0;
      for (std::int64_t t = 0; t < dy.rows; ++t) {
        sum += double{row<T>(dy, t)[j]};
      }
      store(dbias.as<T>()[j], sum, accumulate);
    }
  }

  void rms_norm(View x, NormWeight weight, double epsilon, View y, View rstd) override {
    ref::rms_norm<T>(x, weight, epsilon, y, rstd);
  }
  void add_rms_norm(View x, View delta, NormWeight weight, double epsilon, View sum, View y,
                    View rstd) override {
    ref::add_rms_norm<T>(x, delta, weight, epsilon, sum, y, rstd);
  }
  void rms_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx, View dweight,
                         bool accumulate) override {
    ref::rms_norm_backward<T>(dy, x, weight, rstd, dx, dweight, accumulate);
  }
  void layer_norm(View x, View weight, View bias, double epsilon, View y, View stats) override {
    ref::layer_norm<T>(x, weight, bias, epsilon, y, stats);
  }
  void add_layer_norm(View x, View delta, View weight, View bias, double epsilon, View sum, View y,
                      View stats) override {
    ref::add_layer_norm<T>(x, delta, weight, bias, epsilon, sum, y, stats);
  }
  void layer_norm_backward(View dy, View x, View weight, View stats, View dx, View dweight,
                           View dbias, bool accumulate) override {
    ref::layer_norm_backward<T>(dy, x, weight, stats, dx, dweight, dbias, accumulate);
  }
  void head_norm(View x, NormWeight weight, double epsilon, View y, View rstd) override {
    ref::head_norm<T>(x, weight, epsilon, y, rstd);
  }
  void head_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx, View dweight,
                          bool accumulate) override {
    ref::head_norm_backward<T>(dy, x, weight, rstd, dx, dweight, accumulate);
  }

  void rope(View qkv, Heads heads, Sequences sequences, View table, bool inverse) override {
    TB_DCHECK(has_shape(qkv, sequences.tokens(), heads.fused_cols()));
    TB_DCHECK(table.cols <= heads.width && table.rows >= sequences.length && !heads.interleaved);
    const std::int64_t half = table.cols / 2;
    for (std::int64_t t = 0; t < qkv.rows; ++t) {
      const T* const cosine = row<T>(table, t % sequences.length);
      const T* const sine = cosine + half;
      for (std::int64_t head = 0; head < heads.query + heads.key_value; ++head) {
        T* const first = row<T>(qkv, t) + head * heads.width;
        T* const second = first + half;
        for (std::int64_t i = 0; i < half; ++i) {
          const double c{cosine[i]};
          const double s = inverse ? -double{sine[i]} : double{sine[i]};
          const double a{first[i]};
          const double b{second[i]};
          first[i] = static_cast<T>(a * c - b * s);
          second[i] = static_cast<T>(b * c + a * s);
        }
      }
    }
  }

  void attention(View qkv, Heads heads, Sequences sequences, const Scoring& scoring, View out,
                 View lse) override {
    ref::attention<T>(qkv, heads, sequences, scoring, out, lse);
  }
  void attention_backward(View dout, View qkv, View out, View lse, Heads heads, Sequences sequences,
                          const Scoring& scoring, View dqkv) override {
    ref::attention_backward<T>(dout, qkv, out, lse, heads, sequences, scoring, dqkv);
  }

  void gated(Activation activation, View gate_up, View h) override {
    TB_DCHECK(has_shape(gate_up, h.rows, 2 * h.cols));
    for (std::int64_t t = 0; t < h.rows; ++t) {
      const T* const gate = row<T>(gate_up, t);
      const T* const up = gate + h.cols;
      for (std::int64_t j = 0; j < h.cols; ++j) {
        row<T>(h, t)[j] =
            static_cast<T>(activated(activation, double{gate[j]}).value * double{up[j]});
      }
    }
  }

  void gated_backward(Activation activation, View gate_up, View dh, View dgate_up) override {
    TB_DCHECK(has_shape(gate_up, dh.rows, 2 * dh.cols) && same_shape(gate_up, dgate_up));
    for (std::int64_t t = 0; t < dh.rows; ++t) {
      for (std::int64_t j = 0; j < dh.cols; ++j) {
        const Activated gate = activated(activation, double{row<T>(gate_up, t)[j]});
        const double up{row<T>(gate_up, t)[dh.cols + j]};
        const double gradient{row<T>(dh, t)[j]};
        row<T>(dgate_up, t)[j] = static_cast<T>(gradient * up * gate.slope);
        row<T>(dgate_up, t)[dh.cols + j] = static_cast<T>(gradient * gate.value);
      }
    }
  }

  void activate(Activation activation, View x, View y) override {
    TB_DCHECK(same_shape(x, y));
    for_each(y, [&](std::int64_t t, std::int64_t j) {
      return activated(activation, double{row<T>(x, t)[j]}).value;
    });
  }

  void activate_backward(Activation activation, View x, View dy, View dx) override {
    TB_DCHECK(same_shape(x, dy) && same_shape(x, dx));
    for_each(dx, [&](std::int64_t t, std::int64_t j) {
      return double{row<T>(dy, t)[j]} * activated(activation, double{row<T>(x, t)[j]}).slope;
    });
  }

  void choose_experts(View logits, bool renormalise, View weights, const Visits& visits) override {
    ref::choose_experts<T>(logits, renormalise, weights, visits);
  }
  void choose_experts_backward(View dweights, View probabilities, const Visits& visits,
                               bool renormalise, const RouterPull& pull, View dlogits) override {
    ref::choose_experts_backward<T>(dweights, probabilities, visits, renormalise, pull, dlogits);
  }
  void add_expert_load(View probabilities, const Visits& visits, const RealTokens& real,
                       View load) override {
    ref::add_expert_load<T>(probabilities, visits, real, load);
  }
  double expert_balance(View load, std::int64_t rows, double gradient_scale,
                        View gradient) override {
    return ref::expert_balance<T>(load, rows, gradient_scale, gradient);
  }
  void sum_visits(View in, const Visits& visits, View out, bool accumulate) override {
    ref::sum_visits<T>(in, visits, out, accumulate);
  }
  void expert_products(bool transpose_w, View x, View w, const Visits& visits, View y) override {
    const std::int64_t rows = w.rows / visits.experts_count();
    ref::for_each_expert(visits, [&](std::int64_t expert, std::int64_t begin, std::int64_t count) {
      gemm(false, transpose_w, x.row_range(begin, count), w.row_range(expert * rows, rows),
           y.row_range(begin, count), false);
    });
  }
  void expert_weight_gradients(View dy, View x, const Visits& visits, View dw,
                               bool accumulate) override {
    const std::int64_t rows = dw.rows / visits.experts_count();
    ref::for_each_expert(visits, [&](std::int64_t expert, std::int64_t begin, std::int64_t count) {
      gemm(true, false, dy.row_range(begin, count), x.row_range(begin, count),
           dw.row_range(expert * rows, rows), accumulate);
    });
  }
  void weighted_gated(Activation activation, View gate_up, View weights, View h) override {
    ref::weighted_gated<T>(activation, gate_up, weights, h);
  }
  void weighted_gated_backward(Activation activation, View gate_up, View weights, View dh,
                               View dgate_up, View dweights) override {
    ref::weighted_gated_backward<T>(activation, gate_up, weights, dh, dgate_up, dweights);
  }

  void sigmoid(View x, View y) override {
    TB_DCHECK(same_shape(x, y));
    for_each(y, [&](std::int64_t t, std::int64_t j) {
      return 1.0 / (1.0 + std::exp(-double{row<T>(x, t)[j]}));
    });
  }

  void sigmoid_backward(View y, View dy, View dx) override {
    TB_DCHECK(same_shape(y, dy) && same_shape(y, dx));
    for_each(dx, [&](std::int64_t t, std::int64_t j) {
      const double share{row<T>(y, t)[j]};
      return double{row<T>(dy, t)[j]} * share * (1.0 - share);
    });
  }

  void embed(std::span<const std::int32_t> ids, View table, View out) override {
    gather_rows(table, ids, out);
  }

  void embed_backward(std::span<const std::int32_t> ids, View dout, View dtable) override {
    TB_DCHECK(has_shape(dout, std::ssize(ids), dtable.cols));
    for (std::int64_t t = 0; t < dout.rows; ++t) {
      const std::int64_t id = ids[static_cast<std::size_t>(t)];
      TB_DCHECK(id >= 0 && id < dtable.rows);
      for (std::int64_t j = 0; j < dout.cols; ++j) {
        row<T>(dtable, id)[j] += row<T>(dout, t)[j];
      }
    }
  }

  void gather_rows(View x, std::span<const std::int32_t> rows, View out) override {
    TB_DCHECK(has_shape(out, std::ssize(rows), x.cols));
    for (std::int64_t i = 0; i < out.rows; ++i) {
      const std::int64_t from = rows[static_cast<std::size_t>(i)];
      TB_DCHECK(from >= 0 && from < x.rows);
      std::copy_n(row<T>(x, from), x.cols, row<T>(out, i));
    }
  }

  void scatter_rows(View in, std::span<const std::int32_t> rows, View x) override {
    TB_DCHECK(has_shape(in, std::ssize(rows), x.cols));
    fill(x, 0.0);
    for (std::int64_t i = 0; i < in.rows; ++i) {
      const std::int64_t to = rows[static_cast<std::size_t>(i)];
      TB_DCHECK(to >= 0 && to < x.rows);
      std::copy_n(row<T>(in, i), x.cols, row<T>(x, to));
    }
  }

  double cross_entropy(View logits, std::span<const std::int32_t> labels,
                       double gradient_scale) override {
    TB_DCHECK(logits.rows == std::ssize(labels));
    double loss = 0;
    for (std::int64_t t = 0; t < logits.rows; ++t) {
      T* const values = row<T>(logits, t);
      const std::int64_t label = labels[static_cast<std::size_t>(t)];
      TB_DCHECK(label >= 0 && label < logits.cols);
      const double largest{*std::max_element(values, values + logits.cols)};
      double total = 0;
      for (std::int64_t j = 0; j < logits.cols; ++j) {
        total += std::exp(double{values[j]} - largest);
      }
      const double log_total = std::log(total);
      loss += log_total - (double{values[label]} - largest);
      for (std::int64_t j = 0; j < logits.cols; ++j) {
        const double probability = std::exp(double{values[j]} - largest - log_total);
        values[j] = static_cast<T>((probability - (j == label ? 1.0 : 0.0)) * gradient_scale);
      }
    }
    return loss;
  }

  void fill(View x, double value) override {
    for (std::int64_t t = 0; t < x.rows; ++t) {
      std::fill_n(row<T>(x, t), x.cols, static_cast<T>(value));
    }
  }

  void copy(View from, View to) override {
    TB_DCHECK(same_shape(from, to));
    for (std::int64_t t = 0; t < from.rows; ++t) {
      std::copy_n(row<T>(from, t), from.cols, row<T>(to, t));
    }
  }

  void add(View x, View y) override {
    TB_DCHECK(same_shape(x, y));
    for (std::int64_t t = 0; t < x.rows; ++t) {
      for (std::int64_t j = 0; j < x.cols; ++j) {
        row<T>(y, t)[j] += row<T>(x, t)[j];
      }
    }
  }

  void scale(double factor, View x, View y) override {
    TB_DCHECK(same_shape(x, y));
    for_each(y, [&](std::int64_t t, std::int64_t j) { return factor * double{row<T>(x, t)[j]}; });
  }

  void soft_cap(double cap, View x, View y) override {
    TB_DCHECK(same_shape(x, y));
    for_each(y, [&](std::int64_t t, std::int64_t j) {
      return cap * std::tanh(double{row<T>(x, t)[j]} / cap);
    });
  }

  void soft_cap_backward(double cap, View y, View dy, View dx) override {
    TB_DCHECK(same_shape(y, dy) && same_shape(y, dx));
    for_each(dx, [&](std::int64_t t, std::int64_t j) {
      const double bent = double{row<T>(y, t)[j]} / cap;
      return double{row<T>(dy, t)[j]} * (1.0 - bent * bent);
    });
  }

  double sum_squares(View x) override {
    double sum = 0;
    for (std::int64_t t = 0; t < x.rows; ++t) {
      sum += dot(row<T>(x, t), row<T>(x, t), x.cols);
    }
    return sum;
  }

  void dropout(const Dropout& which, View x, View y, bool accumulate) override {
    TB_DCHECK(same_shape(x, y));
    const std::int64_t quarter = (x.cols + 3) / 4;
    const std::uint32_t threshold = which.threshold();
    for (std::int64_t t = 0; t < x.rows; ++t) {
      for (std::int64_t j = 0; j < x.cols; ++j) {
        const auto block =
            static_cast<std::uint64_t>((which.first_row + t) * quarter + j % quarter);
        const std::uint32_t word =
            philox(which.seed, which.stream, block)[static_cast<std::size_t>(j / quarter)];
        const double kept = double{row<T>(x, t)[j]} * which.kept_scale();
        store(row<T>(y, t)[j], word < threshold ? 0.0 : kept, accumulate);
      }
    }
  }

  void adamw(View parameters, View gradients, View first_moment, View second_moment,
             const AdamwStep& step) override {
    TB_DCHECK(parameters.contiguous() && gradients.contiguous());
    TB_DCHECK(first_moment.contiguous() && second_moment.contiguous());
    TB_DCHECK(parameters.elements() == gradients.elements());
    TB_DCHECK(parameters.elements() == first_moment.elements());
    TB_DCHECK(parameters.elements() == second_moment.elements());
    const auto count = static_cast<double>(step.step);
    const double first_correction = 1.0 - std::pow(step.beta1, count);
    const double second_correction = std::sqrt(1.0 - std::pow(step.beta2, count));
    const double rate = step.learning_rate / first_correction;
    const double kept = 1.0 - step.learning_rate * step.weight_decay;
    for (std::int64_t i = 0; i < parameters.elements(); ++i) {
      const double gradient = double{gradients.as<T>()[i]} * step.gradient_scale;
      T& first = first_moment.as<T>()[i];
      T& second = second_moment.as<T>()[i];
      T& parameter = parameters.as<T>()[i];
      first = static_cast<T>(step.beta1 * double{first} + (1.0 - step.beta1) * gradient);
      second =
          static_cast<T>(step.beta2 * double{second} + (1.0 - step.beta2) * gradient * gradient);
      const double denominator = std::sqrt(double{second}) / second_correction + step.epsilon;
      parameter = static_cast<T>(double{parameter} * kept - rate * double{first} / denominator);
    }
  }

 private:
  /// out[t][j] = value(t, j).
  template <typename Value>
  static void for_each(const View& out, const Value& value) {
    for (std::int64_t t = 0; t < out.rows; ++t) {
      for (std::int64_t j = 0; j < out.cols; ++j) {
        row<T>(out, t)[j] = static_cast<T>(value(t, j));
      }
    }
  }
};

}  // namespace

std::unique_ptr<Ops> make_ref_ops(DType dtype) {
  if (dtype == DType::F64) {
    return std::make_unique<RefOps<double>>();
  }
  return std::make_unique<RefOps<float>>();
}

}  // namespace tunebench::engine
