#include "tunebench/campaign/internal/point_state.h"

#include <algorithm>
#include <optional>

#include "tunebench/campaign/campaign.h"
#include "tunebench/stats/summary.h"

namespace tunebench::campaign {
namespace {

bool precise_enough(const PointState& state, const Repeats& repeats) {
  if (!repeats.until || state.counted >= repeats.most) {
    return true;
  }
  const std::optional<stats::Interval> interval = stats::mean_interval(state.rates);
  return interval && interval->half_width() <= *repeats.until * stats::mean(state.rates);
}

}  // namespace

void count(PointState& state, const record::Record& record, const Plan& plan, std::int64_t times) {
  state.next_attempt = 1;
  if (!record.is_valid() && !plan.stability) {
    state.finished = true;
    return;
  }
  ++state.counted;
  if (record.is_valid()) {
    ++state.valid;
    state.rates.push_back(record.number("tokens_per_s").value_or(0));
  }
  state.finished =
      state.counted >= plan.repeats.count * times && precise_enough(state, plan.repeats);
}

void restore(PointState& state, const record::Record& record, const Plan& plan,
             std::int64_t times) {
  if (record.status == record::Outcome::Interrupted || !state.seen.insert(record.id).second) {
    return;
  }
  if (!plan.stability && worth_another_try(record) && record.attempt < kMostAttempts) {
    state.next_attempt = record.attempt + 1;
    return;
  }
  count(state, record, plan, times);
}

std::int64_t wanted(const PointState& state, const Plan& plan, std::int64_t times) {
  return state.finished ? 0 : std::max<std::int64_t>(1, plan.repeats.count * times - state.counted);
}

}  // namespace tunebench::campaign
