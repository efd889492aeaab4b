#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {

/// Several trainers for one plan: each point is measured by the one that its input `trainer` names.
class TrainerSet final : public Trainer {
 public:
  /// At least one, each with another name.
  explicit TrainerSet(std::vector<std::unique_ptr<Trainer>> trainers);

  [[nodiscard]] const std::vector<std::unique_ptr<Trainer>>& all() const { return trainers_; }
  /// "native, hf" when there are several.
  [[nodiscard]] std::string name() const override;
  [[nodiscard]] std::string version() const override;
  std::unique_ptr<Running> start(const Job& job) override;
  std::optional<double> roof_gflops() override;
  [[nodiscard]] Expected expected(const experiment::Point& point) const override;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> packages() const override;
  /// The first when the point names none of them.
  [[nodiscard]] Trainer& of(const experiment::Point& point) override { return find(point); }

 private:
  [[nodiscard]] Trainer& find(const experiment::Point& point) const;
  std::vector<std::unique_ptr<Trainer>> trainers_;
};

}  // namespace tunebench::trainer
