// The oracle: every operation as its formula reads, loops in the order of the formula, sums in
// double. Nothing here is made fast; what is fast is compared with this.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {
namespace {

[[maybe_unused]] bool has_shape(const View& view, std::int64_t rows, std::int64_t cols) {
  return view.rows == rows && view.cols == cols && view.stride >= cols;
}

[[maybe_unused]] bool same_shape(const View& a, const View& b) {
  return has_shape(a, b.rows, b.cols);
}

template <typename T>
T* row(const View& view, std::int64_t index) {
  return view.as<T>() + index * view.stride;
}

/// 1 / (1 + exp(-x)).
double logistic(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

/// Where the query, key and value of one head stand in a fused qkv row.
struct HeadColumns {
  HeadColumns(const Heads& heads, std::int64_t head)
      : query(head * heads.width),
        key((heads.query + head / (heads.query / heads.key_value)) * heads.width),
        value(key + heads.key_value_cols()) {}
  std::int64_t query;
  std::int64_t key;
  std::int64_t value;
};

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

  void rms_norm(View x, View weight, double epsilon, View y, View rstd) override {
    TB_DCHECK(same_shape(x, y) && has_shape(weight, 1, x.cols) && has_shape(rstd, 1, x.rows));
    for (std::int64_t t = 0; t < x.rows; ++t) {
      const T* const in = row<T>(x, t);
      double squares = 0;
      for (std::int64_t j = 0; j < x.cols; ++j) {
        squares += double{in[j]} * double{in[j]};
      }
      T& scale = rstd.as<T>()[t];
      scale = static_cast<T>(1.0 / std::sqrt(squares / static_cast<double>(x.cols) + epsilon));
      for (std::int64_t j = 0; j < x.cols; ++j) {
        row<T>(y, t)[j] = static_cast<T>(double{in[j]} * double{scale} * double{weight.as<T>()[j]});
      }
    }
  }

  void add_rms_norm(View x, View delta, View weight, double epsilon, View sum, View y,
                    View rstd) override {
    TB_DCHECK(same_shape(x, delta) && same_shape(x, sum));
    for (std::int64_t t = 0; t < x.rows; ++t) {
      for (std::int64_t j = 0; j < x.cols; ++j) {
        row<T>(sum, t)[j] = row<T>(x, t)[j] + row<T>(delta, t)[j];
      }
    }
    rms_norm(sum, weight, epsilon, y, rstd);
  }

  void rms_norm_backward(View dy, View x, View weight, View rstd, View dx, View dweight,
                         bool accumulate) override {
    TB_DCHECK(same_shape(x, dy) && same_shape(x, dx));
    TB_DCHECK(has_shape(weight, 1, x.cols) && has_shape(rstd, 1, x.rows));
    std::vector<double> weight_sum(static_cast<std::size_t>(x.cols), 0.0);
    for (std::int64_t t = 0; t < x.rows; ++t) {
      const double scale{rstd.as<T>()[t]};
      const auto gradient = [&](std::int64_t j) {
        return double{row<T>(dy, t)[j]} * double{weight.as<T>()[j]};
      };
      const auto normal = [&](std::int64_t j) { return double{row<T>(x, t)[j]} * scale; };
      double projection = 0;
      for (std::int64_t j = 0; j < x.cols; ++j) {
        projection += gradient(j) * normal(j);
      }
      projection /= static_cast<double>(x.cols);
      for (std::int64_t j = 0; j < x.cols; ++j) {
        weight_sum[static_cast<std::size_t>(j)] += double{row<T>(dy, t)[j]} * normal(j);
        store(row<T>(dx, t)[j], scale * (gradient(j) - normal(j) * projection), true);
      }
    }
    if (!dweight.empty()) {
      TB_DCHECK(has_shape(dweight, 1, x.cols));
      for (std::int64_t j = 0; j < x.cols; ++j) {
        store(dweight.as<T>()[j], weight_sum[static_cast<std::size_t>(j)], accumulate);
      }
    }
  }

  void rope(View qkv, Heads heads, Sequences sequences, View table, bool inverse) override {
    TB_DCHECK(has_shape(qkv, sequences.tokens(), heads.fused_cols()));
    TB_DCHECK(table.cols == heads.width && table.rows >= sequences.length);
    const std::int64_t half = heads.width / 2;
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

  void attention(View qkv, Heads heads, Sequences sequences, double scale, View out,
                 View lse) override {
    TB_DCHECK(has_shape(qkv, sequences.tokens(), heads.fused_cols()));
    TB_DCHECK(has_shape(out, sequences.tokens(), heads.query_cols()));
    TB_DCHECK(has_shape(lse, heads.query, sequences.tokens()));
    std::vector<double> weights(static_cast<std::size_t>(sequences.length));
    for (std::int64_t head = 0; head < heads.query; ++head) {
      const HeadColumns columns(heads, head);
      for (std::int64_t t = 0; t < sequences.tokens(); ++t) {
        const std::int64_t begin = t / sequences.length * sequences.length;
        const auto keys = static_cast<std::size_t>(t - begin + 1);
        double largest = -std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < keys; ++k) {
          weights[k] = score(qkv, columns, heads.width, t, begin + std::int64_t(k)) * scale;
          largest = std::max(largest, weights[k]);
        }
        double total = 0;
        for (std::size_t k = 0; k < keys; ++k) {
          weights[k] = std::exp(weights[k] - largest);
          total += weights[k];
        }
        row<T>(lse, head)[t] = static_cast<T>(largest + std::log(total));
        for (std::int64_t i = 0; i < heads.width; ++i) {
          double sum = 0;
          for (std::size_t k = 0; k < keys; ++k) {
            sum += weights[k] * double{row<T>(qkv, begin + std::int64_t(k))[columns.value + i]};
          }
          row<T>(out, t)[columns.query + i] = static_cast<T>(sum / total);
        }
      }
    }
  }

  void attention_backward(View dout, View qkv, View out, View lse, Heads heads, Sequences sequences,
                          double scale, View dqkv) override {
    TB_DCHECK(same_shape(qkv, dqkv) && same_shape(out, dout) && qkv.data != dqkv.data);
    const std::int64_t cols = heads.fused_cols();
    std::vector<double> sums(static_cast<std::size_t>(sequences.length * cols));
    for (std::int64_t begin = 0; begin < sequences.tokens(); begin += sequences.length) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::int64_t head = 0; head < heads.query; ++head) {
        const HeadColumns columns(heads, head);
        for (std::int64_t t = begin; t < begin + sequences.length; ++t) {
          const double delta =
              dot(row<T>(dout, t) + columns.query, row<T>(out, t) + columns.query, heads.width);
          double* const dquery = sums.data() + (t - begin) * cols + columns.query;
          for (std::int64_t k = begin; k <= t; ++k) {
            const double logit = score(qkv, columns, heads.width, t, k) * scale;
            const double weight = std::exp(logit - double{row<T>(lse, head)[t]});
            const double dweight =
                dot(row<T>(dout, t) + columns.query, row<T>(qkv, k) + columns.value, heads.width);
            const double dscore = weight * (dweight - delta) * scale;
            double* const dkey = sums.data() + (k - begin) * cols + columns.key;
            double* const dvalue = sums.data() + (k - begin) * cols + columns.value;
            for (std::int64_t i = 0; i < heads.width; ++i) {
              dquery[i] += dscore * double{row<T>(qkv, k)[columns.key + i]};
              dkey[i] += dscore * double{row<T>(qkv, t)[columns.query + i]};
              dvalue[i] += weight * double{row<T>(dout, t)[columns.query + i]};
            }
          }
        }
      }
      for (std::int64_t t = 0; t < sequences.length; ++t) {
        for (std::int64_t j = 0; j < cols; ++j) {
          row<T>(dqkv, begin + t)[j] = static_cast<T>(sums[static_cast<std::size_t>(t * cols + j)]);
        }
      }
    }
  }

  void swiglu(View gate_up, View h) override {
    TB_DCHECK(has_shape(gate_up, h.rows, 2 * h.cols));
    for (std::int64_t t = 0; t < h.rows; ++t) {
      const T* const gate = row<T>(gate_up, t);
      const T* const up = gate + h.cols;
      for (std::int64_t j = 0; j < h.cols; ++j) {
        const double g{gate[j]};
        row<T>(h, t)[j] = static_cast<T>(g * logistic(g) * double{up[j]});
      }
    }
  }

  void swiglu_backward(View gate_up, View dh, View dgate_up) override {
    TB_DCHECK(has_shape(gate_up, dh.rows, 2 * dh.cols) && same_shape(gate_up, dgate_up));
    for (std::int64_t t = 0; t < dh.rows; ++t) {
      for (std::int64_t j = 0; j < dh.cols; ++j) {
        const double gate{row<T>(gate_up, t)[j]};
        const double up{row<T>(gate_up, t)[dh.cols + j]};
        const double gradient{row<T>(dh, t)[j]};
        const double gated = logistic(gate);
        row<T>(dgate_up, t)[j] =
            static_cast<T>(gradient * up * gated * (1.0 + gate * (1.0 - gated)));
        row<T>(dgate_up, t)[dh.cols + j] = static_cast<T>(gradient * gate * gated);
      }
    }
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

  double sum_squares(View x) override {
    double sum = 0;
    for (std::int64_t t = 0; t < x.rows; ++t) {
      sum += dot(row<T>(x, t), row<T>(x, t), x.cols);
    }
    return sum;
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
  static void store(T& target, double value, bool accumulate) {
    target = static_cast<T>(accumulate ? double{target} + value : value);
  }

  static double dot(const T* a, const T* b, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      sum += double{a[i]} * double{b[i]};
    }
    return sum;
  }

  /// query of token t times key of token k, unscaled.
  static double score(const View& qkv, const HeadColumns& columns, std::int64_t width,
                      std::int64_t t, std::int64_t k) {
    return dot(row<T>(qkv, t) + columns.query, row<T>(qkv, k) + columns.key, width);
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
