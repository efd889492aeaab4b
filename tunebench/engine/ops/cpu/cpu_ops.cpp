#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/base/thread_pool.h"
#include "tunebench/engine/ops/cpu/attention.h"
#include "tunebench/engine/ops/cpu/expert_ops.h"
#include "tunebench/engine/ops/cpu/gemm.h"
#include "tunebench/engine/ops/cpu/kernels.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {
namespace {

constexpr std::int64_t kRowGrain = 4;       // rows of one piece of work, at least
constexpr std::int64_t kElementGrain = 64;  // the same for flat views; whole cache lines
constexpr std::int64_t kLineFloats = 16;    // floats of a cache line

[[maybe_unused]] bool has_shape(View view, std::int64_t rows, std::int64_t cols) {
  return view.rows == rows && view.cols == cols && view.stride >= cols;
}

[[maybe_unused]] bool same_shape(View a, View b) {
  return has_shape(a, b.rows, b.cols);
}

bool is_flat(View view) {
  return view.contiguous() || view.rows <= 1;
}

View flat_piece(View view, std::int64_t begin, std::int64_t end) {
  return {view.f32() + begin, DType::F32, 1, end - begin, end - begin};
}

std::int64_t rounded_up(std::int64_t count) {
  return (count + kLineFloats - 1) / kLineFloats * kLineFloats;
}

class CpuOps final : public cpu::ExpertOps {
 public:
  explicit CpuOps(int threads)
      : cpu::ExpertOps(threads), partial_sums_(static_cast<std::size_t>(pool_.size())) {
    cpu::keep_product_workspace();
    pool_.run([](int) { cpu::prepare_this_thread(); });
  }

  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] std::string isa() const override { return cpu::isa_name(); }
  [[nodiscard]] DType dtype() const override { return DType::F32; }

  [[nodiscard]] std::int64_t workspace_bytes(const Extents& largest) const override {
    const std::int64_t floats =
        std::max(cpu::attention_workspace(largest.heads, largest.sequences, threads()),
                 2 * threads() * rounded_up(largest.widest));
    return floats * static_cast<std::int64_t>(sizeof(float));
  }

  void gemm(bool transpose_a, bool transpose_b, View a, View b, View c, bool accumulate) override {
    const cpu::Product product{.transpose_a = transpose_a,
                               .transpose_b = transpose_b,
                               .a = a,
                               .b = b,
                               .c = c,
                               .accumulate = accumulate};
    [[maybe_unused]] const std::int64_t inner = cpu::inner_size(product);
    TB_DCHECK(has_shape(a, transpose_a ? inner : c.rows, transpose_a ? c.rows : inner));
    TB_DCHECK(has_shape(b, transpose_b ? c.cols : inner, transpose_b ? inner : c.cols));
    cpu::multiply(pool_, product, cpu::choose_grid(c.rows, c.cols, threads()));
  }

  void add_bias(View bias, View y) override {
    TB_DCHECK(has_shape(bias, 1, y.cols));
    by_rows(y.rows, [&](std::int64_t begin, std::int64_t count, int) {
      cpu::add_bias_rows(bias, y.row_range(begin, count));
    });
  }

  void bias_backward(View dy, View dbias, bool accumulate) override {
    TB_DCHECK(has_shape(dbias, 1, dy.cols));
    by_cols(dy.cols, [&](std::int64_t begin, std::int64_t count) {
      cpu::column_sums(dy.col_range(begin, count), dbias.col_range(begin, count), accumulate);
    });
  }

  void rms_norm(View x, NormWeight weight, double epsilon, View y, View rstd) override {
    TB_DCHECK(same_shape(x, y) && has_shape(weight.values, 1, x.cols));
    TB_DCHECK(has_shape(rstd, 1, x.rows));
    by_rows(x.rows, [&](std::int64_t begin, std::int64_t count, int) {
      cpu::rms_norm_rows(x.row_range(begin, count), weight, static_cast<float>(epsilon),
                         y.row_range(begin, count), rstd.col_range(begin, count));
    });
  }

  void add_rms_norm(View x, View delta, NormWeight weight, double epsilon, View sum, View y,
                    View rstd) override {
    TB_DCHECK(same_shape(x, delta) && same_shape(x, sum) && same_shape(x, y));
    TB_DCHECK(has_shape(weight.values, 1, x.cols) && has_shape(rstd, 1, x.rows));
    by_rows(x.rows, [&](std::int64_t begin, std::int64_t count, int) {
      cpu::add_rms_norm_rows(x.row_range(begin, count), delta.row_range(begin, count), weight,
                             static_cast<float>(epsilon), sum.row_range(begin, count),
                             y.row_range(begin, count), rstd.col_range(begin, count));
    });
  }

  void rms_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx, View dweight,
                         bool accumulate) override {
    TB_DCHECK(same_shape(x, dy) && same_shape(x, dx));
    TB_DCHECK(has_shape(weight.values, 1, x.cols) && has_shape(rstd, 1, x.rows));
    with_weight_gradient(x, {dweight}, accumulate, [&](const RowPart& part) {
      cpu::rms_norm_backward_rows(part(dy), part(x), weight, part.cols(rstd), part(dx),
                                  part.sums[0]);
    });
  }

  void layer_norm(View x, View weight, View bias, double epsilon, View y, View stats) override {
    TB_DCHECK(same_shape(x, y) && has_shape(weight, 1, x.cols) && has_shape(bias, 1, x.cols));
    TB_DCHECK(has_shape(stats, 2, x.rows));
    by_rows(x.rows, [&](std::int64_t begin, std::int64_t count, int) {
      cpu::layer_norm_rows(x.row_range(begin, count), {weight, bias}, static_cast<float>(epsilon),
                           y.row_range(begin, count), stats.col_range(begin, count));
    });
  }

  void add_layer_norm(View x, View delta, View weight, View bias, double epsilon, View sum, View y,
                      View stats) override {
    TB_DCHECK(same_shape(x, delta) && same_shape(x, sum) && same_shape(x, y));
    TB_DCHECK(has_shape(weight, 1, x.cols) && has_shape(bias, 1, x.cols));
    TB_DCHECK(has_shape(stats, 2, x.rows));
    by_rows(x.rows, [&](std::int64_t begin, std::int64_t count, int) {
      cpu::add_layer_norm_rows(x.row_range(begin, count), delta.row_range(begin, count),
                               {weight, bias}, static_cast<float>(epsilon),
                               sum.row_range(begin, count), y.row_range(begin, count),
                               stats.col_range(begin, count));
    });
  }

  void layer_norm_backward(View dy, View x, View weight, View stats, View dx, View dweight,
                           View dbias, bool accumulate) override {
    TB_DCHECK(same_shape(x, dy) && same_shape(x, dx) && dweight.empty() == dbias.empty());
    TB_DCHECK(has_shape(weight, 1, x.cols) && has_shape(stats, 2, x.rows));
    with_weight_gradient(x, {dweight, dbias}, accumulate, [&](const RowPart& part) {
      cpu::layer_norm_backward_rows(part(dy), part(x), weight, part.cols(stats), part(dx),
                                    {part.sums[0], part.sums[1]});
    });
  }

  void head_norm(View x, NormWeight weight, double epsilon, View y, View rstd) override {
    TB_DCHECK(same_shape(x, y) && has_shape(rstd, x.rows, x.cols / weight.values.cols));
    by_rows(x.rows, [&](std::int64_t begin, std::int64_t count, int) {
      cpu::head_norm_rows(x.row_range(begin, count), weight, static_cast<float>(epsilon),
                          y.row_range(begin, count), rstd.row_range(begin, count));
    });
  }

  void head_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx, View dweight,
                          bool accumulate) override {
    TB_DCHECK(same_shape(x, dy) && same_shape(x, dx));
    TB_DCHECK(has_shape(rstd, x.rows, x.cols / weight.values.cols));
    with_weight_gradient(x, {dweight}, accumulate, [&](const RowPart& part) {
      cpu::head_norm_backward_rows(part(dy), part(x), weight, part(rstd), part(dx), part.sums[0]);
    });
  }

  void rope(View qkv, Heads heads, Sequences sequences, View table, bool inverse) override {
    TB_DCHECK(has_shape(qkv, sequences.tokens(), heads.fused_cols()) && !heads.interleaved);
    TB_DCHECK(table.cols <= heads.width && table.cols % 2 == 0 && table.rows >= sequences.length);
    by_rows(qkv.rows, [&](std::int64_t begin, std::int64_t count, int) {
      cpu::rope_rows(qkv.row_range(begin, count), heads, begin % sequences.length, sequences.length,
                     table, inverse);
    });
  }

  void attention(View qkv, Heads heads, Sequences sequences, const Scoring& scoring, View out,
                 View lse) override {
    TB_DCHECK(has_shape(qkv, sequences.tokens(), heads.fused_cols()));
    TB_DCHECK(has_shape(out, sequences.tokens(), heads.query_cols()));
    TB_DCHECK(has_shape(lse, heads.query, sequences.tokens()));
    cpu::attention_forward(pool_, {heads, sequences, scoring}, qkv, out, lse,
                           workspace(cpu::attention_workspace(heads, sequences, threads())));
  }

  void attention_backward(View dout, View qkv, View out, View lse, Heads heads, Sequences sequences,
                          const Scoring& scoring, View dqkv) override {
    TB_DCHECK(has_shape(qkv, sequences.tokens(), heads.fused_cols()) && same_shape(qkv, dqkv));
    TB_DCHECK(has_shape(out, sequences.tokens(), heads.query_cols()) && same_shape(out, dout));
    TB_DCHECK(has_shape(lse, heads.query, sequences.tokens()));
    cpu::attention_backward(pool_, {heads, sequences, scoring},
                            {.dout = dout, .qkv = qkv, .out = out, .lse = lse, .dqkv = dqkv},
                            workspace(cpu::attention_workspace(heads, sequences, threads())));
  }

  void gated(Activation activation, View gate_up, View h) override {
    TB_DCHECK(has_shape(gate_up, h.rows, 2 * h.cols));
    by_rows(h.rows, [&](std::int64_t begin, std::int64_t count, int) {
      cpu::gated_rows(activation, gate_up.row_range(begin, count), h.row_range(begin, count));
    });
  }

  void gated_backward(Activation activation, View gate_up, View dh, View dgate_up) override {
    TB_DCHECK(has_shape(gate_up, dh.rows, 2 * dh.cols) && same_shape(gate_up, dgate_up));
    by_rows(dh.rows, [&](std::int64_t begin, std::int64_t count, int) {
      cpu::gated_backward_rows(activation, gate_up.row_range(begin, count),
                               dh.row_range(begin, count), dgate_up.row_range(begin, count));
    });
  }

  void activate(Activation activation, View x, View y) override {
    TB_DCHECK(same_shape(x, y));
    by_pieces(is_flat(x) && is_flat(y), y,
              [&](auto part) { cpu::activate_rows(activation, part(x), part(y)); });
  }

  void activate_backward(Activation activation, View x, View dy, View dx) override {
    TB_DCHECK(same_shape(x, dy) && same_shape(x, dx));
    by_pieces(is_flat(x) && is_flat(dy) && is_flat(dx), dx, [&](auto part) {
      cpu::activate_backward_rows(activation, part(x), part(dy), part(dx));
    });
  }

  void embed(std::span<const std::int32_t> ids, View table, View out) override {
    gather_rows(table, ids, out);
  }

  void embed_backward(std::span<const std::int32_t> ids, View dout, View dtable) override {
    TB_DCHECK(has_shape(dout, std::ssize(ids), dtable.cols));
    // A token may occur often: each thread takes some columns of all of them, in order.
    by_cols(dtable.cols, [&](std::int64_t begin, std::int64_t count) {
      for (std::int64_t t = 0; t < dout.rows; ++t) {
        cpu::add_rows(dout.row_range(t, 1).col_range(begin, count),
                      row_at(dtable, ids, t).col_range(begin, count));
      }
    });
  }

  void gather_rows(View x, std::span<const std::int32_t> rows, View out) override {
    TB_DCHECK(has_shape(out, std::ssize(rows), x.cols));
    by_rows(out.rows, [&](std::int64_t begin, std::int64_t count, int) {
      for (std::int64_t i = begin; i < begin + count; ++i) {
        cpu::copy_rows(row_at(x, rows, i), out.row_range(i, 1));
      }
    });
  }

  void scatter_rows(View in, std::span<const std::int32_t> rows, View x) override {
    TB_DCHECK(has_shape(in, std::ssize(rows), x.cols));
    fill(x, 0.0);
    by_rows(in.rows, [&](std::int64_t begin, std::int64_t count, int) {
      for (std::int64_t i = begin; i < begin + count; ++i) {
        cpu::copy_rows(in.row_range(i, 1), row_at(x, rows, i));
      }
    });
  }

  double cross_entropy(View logits, std::span<const std::int32_t> labels,
                       double gradient_scale) override {
    TB_DCHECK(logits.rows == std::ssize(labels));
    std::fill(partial_sums_.begin(), partial_sums_.end(), PartialSum{});
    by_rows(logits.rows, [&](std::int64_t begin, std::int64_t count, int thread) {
      partial_sums_[static_cast<std::size_t>(thread)].value = cpu::cross_entropy_rows(
          logits.row_range(begin, count), labels.subspan(static_cast<std::size_t>(begin)).data(),
          static_cast<float>(gradient_scale));
    });
    return total_of_partial_sums();
  }

  void fill(View x, double value) override {
    by_pieces(is_flat(x), x,
              [&](auto part) { cpu::fill_rows(part(x), static_cast<float>(value)); });
  }

  void copy(View from, View to) override {
    TB_DCHECK(same_shape(from, to));
    by_pieces(is_flat(from) && is_flat(to), to,
              [&](auto part) { cpu::copy_rows(part(from), part(to)); });
  }

  void add(View x, View y) override {
    TB_DCHECK(same_shape(x, y));
    by_pieces(is_flat(x) && is_flat(y), y, [&](auto part) { cpu::add_rows(part(x), part(y)); });
  }

  void scale(double factor, View x, View y) override {
    TB_DCHECK(same_shape(x, y));
    by_pieces(is_flat(x) && is_flat(y), y,
              [&](auto part) { cpu::scaled_rows(static_cast<float>(factor), part(x), part(y)); });
  }

  void soft_cap(double cap, View x, View y) override {
    TB_DCHECK(same_shape(x, y));
    by_pieces(is_flat(x) && is_flat(y), y,
              [&](auto part) { cpu::soft_cap_rows(static_cast<float>(cap), part(x), part(y)); });
  }

  void soft_cap_backward(double cap, View y, View dy, View dx) override {
    TB_DCHECK(same_shape(y, dy) && same_shape(y, dx));
    by_pieces(is_flat(y) && is_flat(dy) && is_flat(dx), dx, [&](auto part) {
      cpu::soft_cap_backward_rows(static_cast<float>(cap), part(y), part(dy), part(dx));
    });
  }

  double sum_squares(View x) override {
    std::fill(partial_sums_.begin(), partial_sums_.end(), PartialSum{});
    by_pieces(is_flat(x), x, [&](auto part) {
      partial_sums_[static_cast<std::size_t>(part.thread)].value = cpu::sum_squares_rows(part(x));
    });
    return total_of_partial_sums();
  }

  void dropout(const Dropout& which, View x, View y, bool accumulate) override {
    TB_DCHECK(same_shape(x, y));
    by_rows(x.rows, [&](std::int64_t begin, std::int64_t count, int) {
      Dropout part = which;
      part.first_row += begin;
      cpu::dropout_rows(part, x.row_range(begin, count), y.row_range(begin, count), accumulate);
    });
  }

  void adamw(View parameters, View gradients, View first_moment, View second_moment,
             const AdamwStep& step) override {
    TB_DCHECK(parameters.contiguous() && gradients.contiguous());
    TB_DCHECK(first_moment.contiguous() && second_moment.contiguous());
    TB_DCHECK(parameters.elements() == gradients.elements());
    TB_DCHECK(parameters.elements() == first_moment.elements());
    TB_DCHECK(parameters.elements() == second_moment.elements());
    by_pieces(true, parameters, [&](auto part) {
      cpu::adamw_rows(part(parameters), part(gradients), part(first_moment), part(second_moment),
                      step);
    });
  }

 private:
  struct alignas(64) PartialSum {
    double value = 0.0;
  };

  /// One thread's part of views of equal shape.
  struct Part {
    bool flat;
    std::int64_t begin;
    std::int64_t end;
    int thread;
    View operator()(View view) const {
      return flat ? flat_piece(view, begin, end) : view.row_range(begin, end - begin);
    }
  };

  /// One thread's rows, and where it leaves its sums for gradients of weights.
  struct RowPart {
    std::int64_t begin;
    std::int64_t count;
    std::array<View, 2> sums;
    View operator()(View view) const { return view.row_range(begin, count); }
    [[nodiscard]] View cols(View view) const { return view.col_range(begin, count); }
  };

  /// body(RowPart) over the rows of x; its sums are added up, in a fixed order, into `gradients`.
  template <typename Body>
  void with_weight_gradient(View x, std::array<View, 2> gradients, bool accumulate, Body body) {
    std::array<View, 2> parts;
    if (!gradients[0].empty()) {
      parts = partial_rows(gradients[0].cols);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (gradients[i].empty()) {
        parts[i] = View{};
      } else {
        cpu::fill_rows(parts[i], 0.0F);  // a thread without rows leaves its part alone
      }
    }
    by_rows(x.rows, [&](std::int64_t begin, std::int64_t count, int thread) {
      RowPart part{begin, count, {}};
      for (std::size_t i = 0; i < parts.size(); ++i) {
        part.sums[i] = parts[i].empty() ? View{} : parts[i].row_range(thread, 1);
      }
      body(part);
    });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!gradients[i].empty()) {
        TB_DCHECK(has_shape(gradients[i], 1, parts[i].cols));
        cpu::column_sums(parts[i], gradients[i], accumulate);
      }
    }
  }

  template <typename Body>
  void by_pieces(bool flat, View shape, Body body) {
    pool_.for_range(flat ? shape.elements() : shape.rows, flat ? kElementGrain : kRowGrain,
                    [&](std::int64_t begin, std::int64_t end, int thread) {
                      body(Part{flat, begin, end, thread});
                    });
  }

  template <typename Body>
  void by_rows(std::int64_t rows, Body body) {
    pool_.for_range(rows, kRowGrain, [&](std::int64_t begin, std::int64_t end, int thread) {
      body(begin, end - begin, thread);
    });
  }

  template <typename Body>
  void by_cols(std::int64_t cols, Body body) {
    pool_.for_range(cols, kLineFloats,
                    [&](std::int64_t begin, std::int64_t end, int) { body(begin, end - begin); });
  }

  static View row_at(View matrix, std::span<const std::int32_t> rows, std::int64_t index) {
    return matrix.row_range(rows[static_cast<std::size_t>(index)], 1);
  }

  [[nodiscard]] double total_of_partial_sums() const {
    return std::accumulate(partial_sums_.begin(), partial_sums_.end(), 0.0,
                           [](double total, const PartialSum& part) { return total + part.value; });
  }

  /// `floats` of the given workspace, or of our own when there is none.
  float* workspace(std::int64_t floats) {
    if (!workspace_.empty()) {
      TB_CHECK(floats <= workspace_.elements());
      return workspace_.f32();
    }
    const auto needed = static_cast<std::size_t>(floats + kLineFloats);
    if (own_workspace_.size() < needed) {
      own_workspace_.resize(needed);
    }
    void* data = own_workspace_.data();
    std::size_t space = own_workspace_.size() * sizeof(float);
    return static_cast<float*>(std::align(64, sizeof(float), data, space));
  }

  /// Twice one row of `cols` for each thread.
  std::array<View, 2> partial_rows(std::int64_t cols) {
    const std::int64_t stride = rounded_up(cols);
    float* const first = workspace(2 * threads() * stride);
    return {View{first, DType::F32, threads(), cols, stride},
            View{first + threads() * stride, DType::F32, threads(), cols, stride}};
  }

  std::vector<PartialSum> partial_sums_;
  std::vector<float> own_workspace_;
};

}  // namespace

std::unique_ptr<Ops> make_cpu_ops(int threads) {
  return std::make_unique<CpuOps>(threads);
}

}  // namespace tunebench::engine
