#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/engine/ops/ops.h"
#include "tunebench/engine/ops/ref/activations.h"
#include "tunebench/engine/ops/ref/loops.h"

// Mixtures of experts, for the oracle.
namespace tunebench::engine::ref {

/// body(expert, its first visit, number of its visits), for each expert, also those without visits.
template <typename Body>
void for_each_expert(const Visits& visits, const Body& body) {
  for (std::int64_t expert = 0; expert < visits.experts_count(); ++expert) {
    const std::int64_t begin = visits.begins.i32()[expert];
    body(expert, begin, visits.begins.i32()[expert + 1] - begin);
  }
}

inline std::int32_t* index_row(const View& view, std::int64_t index) {
  return view.i32() + index * view.stride;
}

/// Places, tokens and begins from experts: for each expert in turn, the tokens that visit it.
inline void put_in_order(const Visits& visits) {
  std::int32_t place = 0;
  for (std::int64_t expert = 0; expert < visits.experts_count(); ++expert) {
    visits.begins.i32()[expert] = place;
    for (std::int64_t t = 0; t < visits.experts.rows; ++t) {
      for (std::int64_t j = 0; j < visits.experts.cols; ++j) {
        if (index_row(visits.experts, t)[j] == expert) {
          visits.tokens.i32()[place] = static_cast<std::int32_t>(t);
          index_row(visits.places, t)[j] = place++;
        }
      }
    }
  }
  visits.begins.i32()[visits.experts_count()] = place;
}

/// What the probabilities of a token's experts are divided by.
template <typename T>
double chosen_sum(const View& probabilities, const Visits& visits, std::int64_t token,
                  bool renormalise) {
  double sum = 0;
  for (std::int64_t j = 0; j < visits.experts.cols; ++j) {
    sum += double{row<T>(probabilities, token)[index_row(visits.experts, token)[j]]};
  }
  return renormalise ? sum : 1.0;
}

/// The first of the largest values that are not taken; not a number is larger than none.
template <typename T>
std::size_t likeliest(const T* values, const std::vector<bool>& taken) {
  std::size_t best = 0;
  while (taken[best]) {
    ++best;
  }
  for (std::size_t e = best + 1; e < taken.size(); ++e) {
    if (!taken[e] && values[e] > values[best]) {
      best = e;
    }
  }
  return best;
}

template <typename T>
void choose_experts(View logits, bool renormalise, View weights, const Visits& visits) {
  TB_DCHECK(visits.experts.rows == logits.rows && visits.experts_count() == logits.cols);
  TB_DCHECK(has_shape(weights, 1, visits.count()) && visits.experts.cols <= logits.cols);
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    T* const values = row<T>(logits, t);
    std::vector<bool> taken(static_cast<std::size_t>(logits.cols));
    for (std::int64_t j = 0; j < visits.experts.cols; ++j) {
      const std::size_t best = likeliest(values, taken);
      index_row(visits.experts, t)[j] = static_cast<std::int32_t>(best);
      taken[best] = true;
    }
    const double largest{values[index_row(visits.experts, t)[0]]};
    double total = 0;
    for (std::int64_t e = 0; e < logits.cols; ++e) {
      total += std::exp(double{values[e]} - largest);
    }
    for (std::int64_t e = 0; e < logits.cols; ++e) {
      values[e] = static_cast<T>(std::exp(double{values[e]} - largest) / total);
    }
  }
  put_in_order(visits);
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    const double sum = chosen_sum<T>(logits, visits, t, renormalise);
    for (std::int64_t j = 0; j < visits.experts.cols; ++j) {
      weights.as<T>()[index_row(visits.places, t)[j]] =
          static_cast<T>(double{row<T>(logits, t)[index_row(visits.experts, t)[j]]} / sum);
    }
  }
}

template <typename T>
void choose_experts_backward(View dweights, View probabilities, const Visits& visits,
                             bool renormalise, const RouterPull& pull, View dlogits) {
  TB_DCHECK(same_shape(probabilities, dlogits) && has_shape(dweights, 1, visits.count()));
  for (std::int64_t t = 0; t < probabilities.rows; ++t) {
    const T* const p = row<T>(probabilities, t);
    std::vector<double> gradient(static_cast<std::size_t>(probabilities.cols));
    const bool pulled = !pull.gradient.empty() && pull.real.contains(t);
    for (std::size_t e = 0; e < gradient.size(); ++e) {
      gradient[e] = pulled ? double{pull.gradient.as<T>()[e]} : 0.0;
    }
    const double sum = chosen_sum<T>(probabilities, visits, t, renormalise);
    double mean = 0;
    for (std::int64_t j = 0; renormalise && j < visits.experts.cols; ++j) {
      mean += double{dweights.as<T>()[index_row(visits.places, t)[j]]} *
              double{p[index_row(visits.experts, t)[j]]} / sum;
    }
    for (std::int64_t j = 0; j < visits.experts.cols; ++j) {
      gradient[static_cast<std::size_t>(index_row(visits.experts, t)[j])] +=
          (double{dweights.as<T>()[index_row(visits.places, t)[j]]} - mean) / sum;
    }
    double inner = 0;
    for (std::size_t e = 0; e < gradient.size(); ++e) {
      inner += double{p[e]} * gradient[e];
    }
    for (std::size_t e = 0; e < gradient.size(); ++e) {
      gradient[e] = double{p[e]} * (gradient[e] - inner);
    }
    store_all(gradient, row<T>(dlogits, t), false);
  }
}

template <typename T>
void add_expert_load(View probabilities, const Visits& visits, const RealTokens& real, View load) {
  TB_DCHECK(has_shape(load, 2, probabilities.cols));
  std::vector<double> counts(static_cast<std::size_t>(load.cols));
  std::vector<double> sums(static_cast<std::size_t>(load.cols));
  for (std::int64_t t = 0; t < probabilities.rows; ++t) {
    if (!real.contains(t)) {
      continue;
    }
    for (std::int64_t j = 0; j < visits.experts.cols; ++j) {
      counts[static_cast<std::size_t>(index_row(visits.experts, t)[j])] += 1.0;
    }
    for (std::size_t e = 0; e < sums.size(); ++e) {
      sums[e] += double{row<T>(probabilities, t)[e]};
    }
  }
  store_all(counts, row<T>(load, 0), true);
  store_all(sums, row<T>(load, 1), true);
}

template <typename T>
double expert_balance(View load, std::int64_t rows, double gradient_scale, View gradient) {
  TB_DCHECK(has_shape(gradient, 1, load.cols));
  const double squared = static_cast<double>(rows) * static_cast<double>(rows);
  const double factor = rows > 0 ? static_cast<double>(load.cols) / squared : 0.0;
  for (std::int64_t e = 0; e < load.cols; ++e) {
    gradient.as<T>()[e] = static_cast<T>(gradient_scale * factor * double{row<T>(load, 0)[e]});
  }
  return factor * dot(row<T>(load, 0), row<T>(load, 1), load.cols);
}

template <typename T>
void sum_visits(View in, const Visits& visits, View out, bool accumulate) {
  TB_DCHECK(has_shape(in, visits.count(), out.cols) && visits.places.rows == out.rows);
  for (std::int64_t t = 0; t < out.rows; ++t) {
    for (std::int64_t i = 0; i < out.cols; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < visits.places.cols; ++j) {
        sum += double{row<T>(in, index_row(visits.places, t)[j])[i]};
      }
      store(row<T>(out, t)[i], sum, accumulate);
    }
  }
}

template <typename T>
void weighted_gated(Activation activation, View gate_up, View weights, View h) {
  TB_DCHECK(has_shape(gate_up, h.rows, 2 * h.cols) && has_shape(weights, 1, h.rows));
  for (std::int64_t t = 0; t < h.rows; ++t) {
    const T* const gate = row<T>(gate_up, t);
    for (std::int64_t j = 0; j < h.cols; ++j) {
      row<T>(h, t)[j] =
          static_cast<T>(double{weights.as<T>()[t]} * activated(activation, double{gate[j]}).value *
                         double{gate[h.cols + j]});
    }
  }
}

template <typename T>
void weighted_gated_backward(Activation activation, View gate_up, View weights, View dh,
                             View dgate_up, View dweights) {
  TB_DCHECK(has_shape(gate_up, dh.rows, 2 * dh.cols) && same_shape(gate_up, dgate_up));
  TB_DCHECK(has_shape(weights, 1, dh.rows) && same_shape(weights, dweights));
  for (std::int64_t t = 0; t < dh.rows; ++t) {
    const double weight{weights.as<T>()[t]};
    double sum = 0;
    for (std::int64_t j = 0; j < dh.cols; ++j) {
      const Activated gate = activated(activation, double{row<T>(gate_up, t)[j]});
      const double up{row<T>(gate_up, t)[dh.cols + j]};
      const double gradient{row<T>(dh, t)[j]};
      sum += gradient * gate.value * up;
      row<T>(dgate_up, t)[j] = static_cast<T>(weight * gradient * up * gate.slope);
      row<T>(dgate_up, t)[dh.cols + j] = static_cast<T>(weight * gradient * gate.value);
    }
    dweights.as<T>()[t] = static_cast<T>(sum);
  }
}

}  // namespace tunebench::engine::ref
