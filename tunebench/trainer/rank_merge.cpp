#include "tunebench/trainer/rank_merge.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace tunebench::trainer {
namespace {

/// The mean of what the ranks tell; absent when one does not tell it.
std::optional<double> mean_loss(const std::map<std::int64_t, StepEvent>& ranks) {
  double sum = 0;
  for (const auto& [rank, step] : ranks) {
    if (!step.loss.has_value()) {
      return std::nullopt;
    }
    sum += *step.loss;
  }
  return sum / static_cast<double>(ranks.size());
}

StepEvent merged_step(const std::map<std::int64_t, StepEvent>& ranks, std::int64_t not_before_ns) {
  StepEvent merged = ranks.begin()->second;  // that of rank 0
  merged.loss = mean_loss(ranks);
  merged.samples = merged.tokens = merged.tokens_nonpad = merged.tokens_trained = 0;
  for (const auto& [rank, step] : ranks) {
    merged.t0 = std::min(merged.t0, step.t0);
    merged.t1 = std::max(merged.t1, step.t1);
    merged.samples += step.samples;
    merged.tokens += step.tokens;
    merged.tokens_nonpad += step.tokens_nonpad;
    merged.tokens_trained += step.tokens_trained;
  }
  merged.t0 = std::max(merged.t0, not_before_ns);
  return merged;
}

}  // namespace

void RankMerge::add(Event event) {
  std::visit(
      [this](auto& one) {
        using Kind = std::decay_t<decltype(one)>;
        // A trainer that does not say how many it is has at least the ranks that speak.
        seen_.world = std::max(seen_.world, one.rank + 1);
        if constexpr (std::is_same_v<Kind, HelloEvent>) {
          add_hello(std::move(one));
        } else if constexpr (std::is_same_v<Kind, StepEvent>) {
          add_step(one);
        } else if constexpr (std::is_same_v<Kind, MemoryEvent>) {
          add_memory(one);
        } else if constexpr (std::is_same_v<Kind, ErrorEvent>) {
          add_error(std::move(one));
        } else if constexpr (std::is_same_v<Kind, EndEvent>) {
          add_end(one);
        } else if (one.rank == 0) {
          merged_.emplace_back(std::move(one));
        }
      },
      event);
}

std::optional<Event> RankMerge::take() {
  if (merged_.empty()) {
    return std::nullopt;
  }
  Event first = std::move(merged_.front());
  merged_.pop_front();
  return first;
}

void RankMerge::add_hello(HelloEvent hello) {
  seen_.world = std::max(seen_.world, hello.world);
  seen_.told.insert(hello.rank);
  seen_.devices[hello.rank] = hello.device;
  if (hello.rank == 0) {
    merged_.emplace_back(std::move(hello));
  }
}

void RankMerge::add_step(const StepEvent& step) {
  seen_.stepped.insert(step.rank);
  if (world() == 1) {
    merged_.emplace_back(step);
    return;
  }
  std::map<std::int64_t, StepEvent>& ranks = steps_[step.n];
  ranks[step.rank] = step;
  while (!steps_.empty() && steps_.begin()->second.size() == world()) {
    StepEvent merged = merged_step(steps_.begin()->second, last_end_ns_);
    last_end_ns_ = merged.t1;
    merged_.emplace_back(std::move(merged));
    steps_.erase(steps_.begin());
  }
}

void RankMerge::add_memory(const MemoryEvent& memory) {
  if (world() == 1) {
    merged_.emplace_back(memory);
    return;
  }
  memory_[memory.rank] = memory;
  MemoryEvent merged{.t = memory.t};
  for (const auto& [rank, one] : memory_) {
    merged.device_peak_bytes = std::max(merged.device_peak_bytes, one.device_peak_bytes);
    merged.host_peak_bytes += one.host_peak_bytes;
  }
  merged_.emplace_back(std::move(merged));
}

void RankMerge::add_error(ErrorEvent error) {
  if (world() > 1) {
    error.message = fmt::format("rank {}: {}", error.rank, error.message);
  }
  merged_.emplace_back(std::move(error));
}

void RankMerge::add_end(const EndEvent& end) {
  ends_[end.rank] = end;
  if (ends_.size() != world()) {
    return;
  }
  EndEvent merged = ends_.begin()->second;
  for (const auto& [rank, one] : ends_) {
    if (one.status != "ok") {
      merged.status = one.status;
    }
  }
  merged_.emplace_back(std::move(merged));
}

}  // namespace tunebench::trainer
