#include "tunebench/engine/ops/cpu/expert_ops.h"

#include <algorithm>

#include "tunebench/base/error.h"
#include "tunebench/engine/ops/cpu/kernels.h"

namespace tunebench::engine::cpu {
namespace {

constexpr std::int64_t kRowsAtOnce = 4;      // of one thread, at least
constexpr std::int64_t kExpertsAtOnce = 16;  // the same; floats of a cache line

[[maybe_unused]] bool is_shape(View view, std::int64_t rows, std::int64_t cols) {
  return view.rows == rows && view.cols == cols && view.stride >= cols;
}

std::int32_t* places_at(View view, std::int64_t row) {
  return view.i32() + row * view.stride;
}

/// The experts of the highest logits, of equal ones the first.
void choose_for_token(const float* logits, std::int64_t experts, std::int32_t* chosen,
                      std::int64_t count) {
  for (std::int64_t e = 0; e < experts; ++e) {
    std::int64_t at = std::min(e, count);
    while (at > 0 && logits[e] > logits[chosen[at - 1]]) {
      --at;
    }
    if (at < count) {
      std::copy_backward(chosen + at, chosen + std::min(e, count - 1),
                         chosen + std::min(e, count - 1) + 1);
      chosen[at] = static_cast<std::int32_t>(e);
    }
  }
}

/// Counts, then hands out places: both in the order of the tokens.
void put_visits_in_order(const Visits& visits) {
  std::int32_t* const begins = visits.begins.i32();
  const std::int64_t experts = visits.experts_count();
  std::fill_n(begins, experts + 1, 0);
  for (std::int64_t t = 0; t < visits.experts.rows; ++t) {
    for (std::int64_t j = 0; j < visits.experts.cols; ++j) {
      ++begins[places_at(visits.experts, t)[j] + 1];
    }
  }
  for (std::int64_t e = 0; e < experts; ++e) {
    begins[e + 1] += begins[e];
  }
  for (std::int64_t t = 0; t < visits.experts.rows; ++t) {
    for (std::int64_t j = 0; j < visits.experts.cols; ++j) {
      const std::int32_t place = begins[places_at(visits.experts, t)[j]]++;
      places_at(visits.places, t)[j] = place;
      visits.tokens.i32()[place] = static_cast<std::int32_t>(t);
    }
  }
  // Each begin has moved to where the next expert begins.
  std::copy_backward(begins, begins + experts, begins + experts + 1);
  begins[0] = 0;
}

void weigh_visits(const float* probabilities, const std::int32_t* experts,
                  const std::int32_t* places, std::int64_t count, bool renormalise,
                  float* weights) {
  float sum = 0.0F;
  for (std::int64_t j = 0; j < count; ++j) {
    sum += probabilities[experts[j]];
  }
  for (std::int64_t j = 0; j < count; ++j) {
    weights[places[j]] = renormalise ? probabilities[experts[j]] / sum : probabilities[experts[j]];
  }
}

float count_real(const Visits& visits, const RealTokens& real, std::int64_t expert) {
  const std::int32_t* const tokens = visits.tokens.i32();
  const std::int32_t* const begins = visits.begins.i32();
  return static_cast<float>(
      std::count_if(tokens + begins[expert], tokens + begins[expert + 1],
                    [&](std::int32_t token) { return real.contains(token); }));
}

}  // namespace

void ExpertOps::choose_experts(View logits, bool renormalise, View weights, const Visits& visits) {
  TB_DCHECK(visits.experts.rows == logits.rows && visits.experts_count() == logits.cols);
  TB_DCHECK(is_shape(weights, 1, visits.count()) && visits.experts.cols <= logits.cols);
  pool_.for_range(logits.rows, kRowsAtOnce, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = begin; t < end; ++t) {
      choose_for_token(logits.f32() + t * logits.stride, logits.cols, places_at(visits.experts, t),
                       visits.experts.cols);
    }
    softmax_rows(logits.row_range(begin, end - begin));
  });
  put_visits_in_order(visits);
  pool_.for_range(logits.rows, kRowsAtOnce, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t t = begin; t < end; ++t) {
      weigh_visits(logits.f32() + t * logits.stride, places_at(visits.experts, t),
                   places_at(visits.places, t), visits.experts.cols, renormalise, weights.f32());
    }
  });
}

void ExpertOps::choose_experts_backward(View dweights, View probabilities, const Visits& visits,
                                        bool renormalise, const RouterPull& pull, View dlogits) {
  TB_DCHECK(is_shape(dlogits, probabilities.rows, probabilities.cols));
  TB_DCHECK(is_shape(dweights, 1, visits.count()));
  pool_.for_range(probabilities.rows, kRowsAtOnce, [&](std::int64_t begin, std::int64_t end, int) {
    router_backward_rows(dweights, probabilities.row_range(begin, end - begin), visits, renormalise,
                         pull, begin, dlogits.row_range(begin, end - begin));
  });
}

void ExpertOps::add_expert_load(View probabilities, const Visits& visits, const RealTokens& real,
                                View load) {
  TB_DCHECK(is_shape(load, 2, probabilities.cols));
  pool_.for_range(load.cols, kExpertsAtOnce, [&](std::int64_t begin, std::int64_t end, int) {
    float* const counts = load.f32();
    float* const sums = counts + load.stride;
    for (std::int64_t e = begin; e < end; ++e) {
      double sum = 0.0;
      for (std::int64_t t = 0; t < probabilities.rows; ++t) {
        const float p = probabilities.f32()[t * probabilities.stride + e];
        sum += real.contains(t) ? static_cast<double>(p) : 0.0;
      }
      counts[e] += count_real(visits, real, e);
      sums[e] += static_cast<float>(sum);
    }
  });
}

double ExpertOps::expert_balance(View load, std::int64_t rows, double gradient_scale,
                                 View gradient) {
  TB_DCHECK(is_shape(gradient, 1, load.cols));
  const double squared = static_cast<double>(rows) * static_cast<double>(rows);
  const double factor = rows > 0 ? static_cast<double>(load.cols) / squared : 0.0;
  double loss = 0.0;
  for (std::int64_t e = 0; e < load.cols; ++e) {
    const auto visited = static_cast<double>(load.f32()[e]);
    loss += visited * static_cast<double>(load.f32()[load.stride + e]);
    gradient.f32()[e] = static_cast<float>(gradient_scale * factor * visited);
  }
  return factor * loss;
}

void ExpertOps::sum_visits(View in, const Visits& visits, View out, bool accumulate) {
  TB_DCHECK(is_shape(in, visits.count(), out.cols) && visits.places.rows == out.rows);
  pool_.for_range(out.rows, kRowsAtOnce, [&](std::int64_t begin, std::int64_t end, int) {
    sum_visit_rows(in, visits.places.row_range(begin, end - begin),
                   out.row_range(begin, end - begin), accumulate);
  });
}

void ExpertOps::start_products(const Visits& visits) {
  products_.clear();
  products_.reserve(static_cast<std::size_t>(visits.experts_count() * threads()));
}

/// Cut finer the more of all visits an expert has, so that the threads end together.
void ExpertOps::add_product(const Product& product, std::int64_t own_visits,
                            std::int64_t all_visits) {
  const std::int64_t share = (2 * threads() * own_visits + all_visits - 1) / all_visits;
  const auto pieces = static_cast<int>(std::clamp<std::int64_t>(share, 1, threads()));
  const Grid grid = choose_grid(product.c.rows, product.c.cols, pieces);
  for (std::int64_t index = 0; index < grid.rows * grid.cols; ++index) {
    products_.push_back(piece_of(product, grid, index));
  }
}

void ExpertOps::run_products() {
  pool_.for_each_task(std::ssize(products_), [&](std::int64_t task, int) {
    multiply_serial(products_[static_cast<std::size_t>(task)]);
  });
}

void ExpertOps::expert_products(bool transpose_w, View x, View w, const Visits& visits, View y) {
  const std::int64_t rows = w.rows / visits.experts_count();
  TB_DCHECK(is_shape(x, visits.count(), transpose_w ? w.cols : rows));
  TB_DCHECK(is_shape(y, visits.count(), transpose_w ? rows : w.cols));
  start_products(visits);
  for (std::int64_t expert = 0; expert < visits.experts_count(); ++expert) {
    const std::int64_t begin = visits.begins.i32()[expert];
    const std::int64_t count = visits.begins.i32()[expert + 1] - begin;
    if (count > 0) {
      add_product({.transpose_b = transpose_w,
                   .a = x.row_range(begin, count),
                   .b = w.row_range(expert * rows, rows),
                   .c = y.row_range(begin, count)},
                  count, visits.count());
    }
  }
  run_products();
}

void ExpertOps::expert_weight_gradients(View dy, View x, const Visits& visits, View dw,
                                        bool accumulate) {
  const std::int64_t rows = dw.rows / visits.experts_count();
  TB_DCHECK(is_shape(x, visits.count(), dw.cols) && is_shape(dy, visits.count(), rows));
  start_products(visits);
  for (std::int64_t expert = 0; expert < visits.experts_count(); ++expert) {
    const std::int64_t begin = visits.begins.i32()[expert];
    const std::int64_t count = visits.begins.i32()[expert + 1] - begin;
    if (count > 0 || !accumulate) {
      add_product({.transpose_a = true,
                   .a = dy.row_range(begin, count),
                   .b = x.row_range(begin, count),
                   .c = dw.row_range(expert * rows, rows),
                   .accumulate = accumulate},
                  count, visits.count());
    }
  }
  run_products();
}

void ExpertOps::weighted_gated(Activation activation, View gate_up, View weights, View h) {
  TB_DCHECK(is_shape(gate_up, h.rows, 2 * h.cols) && is_shape(weights, 1, h.rows));
  pool_.for_range(h.rows, kRowsAtOnce, [&](std::int64_t begin, std::int64_t end, int) {
    const std::int64_t count = end - begin;
    weighted_gated_rows(activation, gate_up.row_range(begin, count),
                        weights.col_range(begin, count), h.row_range(begin, count));
  });
}

void ExpertOps::weighted_gated_backward(Activation activation, View gate_up, View weights, View dh,
                                        View dgate_up, View dweights) {
  TB_DCHECK(is_shape(gate_up, dh.rows, 2 * dh.cols) && is_shape(weights, 1, dh.rows));
  TB_DCHECK(is_shape(dgate_up, dh.rows, 2 * dh.cols) && is_shape(dweights, 1, dh.rows));
  pool_.for_range(dh.rows, kRowsAtOnce, [&](std::int64_t begin, std::int64_t end, int) {
    const std::int64_t count = end - begin;
    weighted_gated_backward_rows(activation, gate_up.row_range(begin, count),
                                 weights.col_range(begin, count), dh.row_range(begin, count),
                                 dgate_up.row_range(begin, count),
                                 dweights.col_range(begin, count));
  });
}

void ExpertOps::sigmoid(View x, View y) {
  TB_DCHECK(is_shape(y, x.rows, x.cols));
  pool_.for_range(x.rows, kRowsAtOnce, [&](std::int64_t begin, std::int64_t end, int) {
    sigmoid_rows(x.row_range(begin, end - begin), y.row_range(begin, end - begin));
  });
}

void ExpertOps::sigmoid_backward(View y, View dy, View dx) {
  TB_DCHECK(is_shape(dy, y.rows, y.cols) && is_shape(dx, y.rows, y.cols));
  pool_.for_range(y.rows, kRowsAtOnce, [&](std::int64_t begin, std::int64_t end, int) {
    const std::int64_t count = end - begin;
    sigmoid_backward_rows(y.row_range(begin, count), dy.row_range(begin, count),
                          dx.row_range(begin, count));
  });
}

}  // namespace tunebench::engine::cpu
