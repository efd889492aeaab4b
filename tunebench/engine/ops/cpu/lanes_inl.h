// Included once per instruction set by each kernel file, inside foreach_target.h.
#if defined(TUNEBENCH_ENGINE_OPS_CPU_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUNEBENCH_ENGINE_OPS_CPU_LANES_INL_H_
#undef TUNEBENCH_ENGINE_OPS_CPU_LANES_INL_H_
#else
#define TUNEBENCH_ENGINE_OPS_CPU_LANES_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tunebench::engine::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using OneFloat = hn::CappedTag<float, 1>;

/// Calls body(tag, i) for each whole vector of [0, count), then one element at a time for the
/// rest, so nothing outside the range is ever touched.
template <typename Body>
HWY_INLINE HWY_ATTR void for_lanes(std::int64_t count, Body body) {
  const Floats wide;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    body(wide, i);
  }
  for (; i < count; ++i) {
    body(OneFloat(), i);
  }
}

/// Sum over [0, count) of step's terms: step(tag, i, sum) returns sum plus its term. Four running
/// sums, combined in a fixed order.
template <typename Step>
HWY_INLINE HWY_ATTR float sum_lanes(std::int64_t count, Step step) {
  const Floats wide;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  hn::Vec<Floats> sum0 = hn::Zero(wide);
  hn::Vec<Floats> sum1 = hn::Zero(wide);
  hn::Vec<Floats> sum2 = hn::Zero(wide);
  hn::Vec<Floats> sum3 = hn::Zero(wide);
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = step(wide, i, sum0);
    sum1 = step(wide, i + lanes, sum1);
    sum2 = step(wide, i + 2 * lanes, sum2);
    sum3 = step(wide, i + 3 * lanes, sum3);
  }
  for (; i + lanes <= count; i += lanes) {
    sum0 = step(wide, i, sum0);
  }
  hn::Vec<OneFloat> rest = hn::Zero(OneFloat());
  for (; i < count; ++i) {
    rest = step(OneFloat(), i, rest);
  }
  const hn::Vec<Floats> total = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  return hn::GetLane(hn::SumOfLanes(wide, total)) + hn::GetLane(rest);
}

/// Largest of value(tag, i) over [0, count); -infinity when count is 0.
template <typename Value>
HWY_INLINE HWY_ATTR float max_lanes(std::int64_t count, Value value) {
  const Floats wide;
  const OneFloat one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
  const float least = -HUGE_VALF;
  hn::Vec<Floats> max0 = hn::Set(wide, least);
  hn::Vec<Floats> max1 = max0;
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    max0 = hn::Max(max0, value(wide, i));
    max1 = hn::Max(max1, value(wide, i + lanes));
  }
  for (; i + lanes <= count; i += lanes) {
    max0 = hn::Max(max0, value(wide, i));
  }
  hn::Vec<OneFloat> rest = hn::Set(one, least);
  for (; i < count; ++i) {
    rest = hn::Max(rest, value(one, i));
  }
  const float main = hn::GetLane(hn::MaxOfLanes(wide, hn::Max(max0, max1)));
  const float last = hn::GetLane(rest);
  return main > last ? main : last;
}

/// e^x within 1 to 2 units in the last place for x in [-87.3, 88.3]. Below, the result is 0 (also
/// for -infinity); above, it stays at about 2.4e38. NaN stays NaN.
/// Method: x = n ln2 + r with |r| <= ln2 / 2, then 2^n times a polynomial of degree 6 in r whose
/// coefficients minimise the relative error (3.1e-9).
template <class D, class V = hn::Vec<D>>
HWY_INLINE HWY_ATTR V exp_lanes(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V low = hn::Set(d, -87.33654F);
  const V high = hn::Set(d, 88.37626F);
  const auto vanishes = hn::Lt(x, low);
  x = hn::IfThenElse(vanishes, low, x);
  x = hn::IfThenElse(hn::Gt(x, high), high, x);
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504F)));
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  V p = hn::Set(d, 0.0013814467F);
  p = hn::MulAdd(p, r, hn::Set(d, 0.008368781F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.041668393F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.1666652F));
  p = hn::MulAdd(p, r, hn::Set(d, 0.49999994F));
  p = hn::MulAdd(p, hn::Mul(r, r), r);
  p = hn::Add(p, hn::Set(d, 1.0F));
// NaN to int is undefined in plain C++; elsewhere an instruction says what it is.
#if HWY_TARGET == HWY_SCALAR
  const V whole = hn::IfThenElse(hn::IsNaN(n), hn::Zero(d), n);
#else
  const V whole = n;
#endif
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, whole), hn::Set(di, 127)));
  return hn::IfThenZeroElse(vanishes, hn::Mul(p, hn::BitCast(d, exponent)));
}

/// 1 / (1 + e^-x)
template <class D, class V = hn::Vec<D>>
HWY_INLINE HWY_ATTR V sigmoid_lanes(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  return hn::Div(one, hn::Add(one, exp_lanes(d, hn::Neg(x))));
}

/// tanh x within 3 units in the last place: an odd polynomial near 0, where the other form would
/// lose digits, and 1 - 2 / (e^2|x| + 1) beyond.
template <class D, class V = hn::Vec<D>>
HWY_INLINE HWY_ATTR V tanh_lanes(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  const V two = hn::Set(d, 2.0F);
  const V size = hn::Abs(x);
  const V square = hn::Mul(x, x);
  V p = hn::Set(d, 0.02186949F);  // 62/2835
  p = hn::MulAdd(p, square, hn::Set(d, -0.05396825F));
  p = hn::MulAdd(p, square, hn::Set(d, 0.13333334F));
  p = hn::MulAdd(p, square, hn::Set(d, -0.33333334F));
  const V near = hn::MulAdd(hn::Mul(p, square), x, x);
  const V far = hn::Sub(one, hn::Div(two, hn::Add(exp_lanes(d, hn::Mul(two, size)), one)));
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.25F)), near, hn::CopySign(far, x));
}

/// Phi(x), the share of a standard normal below x, and its density: |error| < 1e-7.
/// Source: Abramowitz and Stegun 1964, formula 7.1.26, for the complement, so that small shares
/// keep their digits.
template <class V>
struct NormalShare {
  V share;
  V density;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE HWY_ATTR NormalShare<V> normal_share_lanes(D d, V x) {
  const V one = hn::Set(d, 1.0F);
  const V size = hn::Mul(hn::Abs(x), hn::Set(d, 0.70710678F));
  const V t = hn::Div(one, hn::MulAdd(size, hn::Set(d, 0.3275911F), one));
  V p = hn::Set(d, 1.061405429F);
  p = hn::MulAdd(p, t, hn::Set(d, -1.453152027F));
  p = hn::MulAdd(p, t, hn::Set(d, 1.421413741F));
  p = hn::MulAdd(p, t, hn::Set(d, -0.284496736F));
  p = hn::MulAdd(p, t, hn::Set(d, 0.254829592F));
  const V bell = exp_lanes(d, hn::Neg(hn::Mul(size, size)));
  const V above = hn::Mul(hn::Mul(hn::Mul(p, t), bell), hn::Set(d, 0.5F));
  const V share = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), above, hn::Sub(one, above));
  return {share, hn::Mul(bell, hn::Set(d, 0.39894228F))};
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace tunebench::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
