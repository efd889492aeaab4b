#pragma once

#include <cstdint>
#include <vector>

#include "tunebench/base/thread_pool.h"
#include "tunebench/engine/ops/cpu/gemm.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine::cpu {

/// The operations of mixtures of experts, over the team of threads that all operations share.
class ExpertOps : public Ops {
 public:
  [[nodiscard]] int threads() const override { return pool_.size(); }

  void choose_experts(View logits, bool renormalise, View weights, const Visits& visits) override;
  void choose_experts_backward(View dweights, View probabilities, const Visits& visits,
                               bool renormalise, const RouterPull& pull, View dlogits) override;
  void add_expert_load(View probabilities, const Visits& visits, const RealTokens& real,
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

 protected:
  explicit ExpertOps(int threads) : pool_(threads) {}

  ThreadPool pool_;

 private:
  void start_products(const Visits& visits);
  void add_product(const Product& product, std::int64_t own_visits, std::int64_t all_visits);
  void run_products();

  std::vector<Product> products_;
};

}  // namespace tunebench::engine::cpu
