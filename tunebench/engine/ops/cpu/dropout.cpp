#include <algorithm>
#include <array>

#include "tunebench/base/random.h"
#include "tunebench/engine/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tunebench/engine/ops/cpu/dropout.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tunebench/engine/ops/cpu/lanes_inl.h"

#ifndef TUNEBENCH_ENGINE_OPS_CPU_DROPOUT_CPP_
#define TUNEBENCH_ENGINE_OPS_CPU_DROPOUT_CPP_
namespace tunebench::engine::cpu {

/// Philox blocks drawn at once, and their four words one after the other.
inline constexpr std::int64_t kBlocksAtOnce = 256;
using DropoutWords = std::array<std::array<std::uint32_t, kBlocksAtOnce>, 4>;

}  // namespace tunebench::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tunebench::engine::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
using Words = hn::ScalableTag<std::uint32_t>;
using Word = hn::Vec<Words>;

/// High and low halves of the products of all lanes with one number.
HWY_INLINE HWY_ATTR void multiply_words(Word a, Word factor, Word& high, Word& low) {
  const Words d;
  const hn::RepartitionToWide<Words> wide;
  const auto even = hn::MulEven(a, factor);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), factor);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
}

/// philox() of base/random.h for as many indices from `index` on as there are lanes.
HWY_INLINE HWY_ATTR void philox_lanes(const Dropout& which, std::uint64_t index,
                                      std::array<std::uint32_t*, 4> out) {
  const Words d;
  const auto set = [d](std::uint64_t bits)
                       HWY_ATTR { return hn::Set(d, static_cast<std::uint32_t>(bits)); };
  const Word first = set(index);
  Word x0 = hn::Add(first, hn::Iota(d, 0U));
  // A lane that wrapped around carries into the upper half.
  Word x1 = hn::IfThenElse(hn::Lt(x0, first), set((index >> 32U) + 1), set(index >> 32U));
  Word x2 = set(which.stream);
  Word x3 = set(which.stream >> 32U);
  auto key0 = static_cast<std::uint32_t>(which.seed);
  auto key1 = static_cast<std::uint32_t>(which.seed >> 32U);
  const Word factor0 = hn::Set(d, 0xD2511F53U);
  const Word factor1 = hn::Set(d, 0xCD9E8D57U);
  for (int round = 0; round < 10; ++round) {
    Word high0 = x0;
    Word low0 = x0;
    Word high1 = x0;
    Word low1 = x0;
    multiply_words(x0, factor0, high0, low0);
    multiply_words(x2, factor1, high1, low1);
    x0 = hn::Xor(hn::Xor(high1, x1), hn::Set(d, key0));
    x1 = low1;
    x2 = hn::Xor(hn::Xor(high0, x3), hn::Set(d, key1));
    x3 = low0;
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  hn::StoreU(x0, d, out[0]);
  hn::StoreU(x1, d, out[1]);
  hn::StoreU(x2, d, out[2]);
  hn::StoreU(x3, d, out[3]);
}
#endif

/// The words of `count` blocks from `index` on.
HWY_INLINE HWY_ATTR void draw_words(const Dropout& which, std::uint64_t index, std::int64_t count,
                                    DropoutWords& words) {
  std::size_t i = 0;
  const auto end = static_cast<std::size_t>(count);
#if HWY_TARGET != HWY_SCALAR
  const std::size_t lanes = hn::Lanes(Words());
  for (; i + lanes <= end; i += lanes) {
    philox_lanes(which, index + i, {&words[0][i], &words[1][i], &words[2][i], &words[3][i]});
  }
#endif
  for (; i < end; ++i) {
    const std::array<std::uint32_t, 4> block = philox(which.seed, which.stream, index + i);
    for (std::size_t word = 0; word < 4; ++word) {
      words[word][i] = block[word];
    }
  }
}

void DropoutRows(const Dropout& which, View x, View y, bool accumulate) {
  const std::int64_t quarter = (x.cols + 3) / 4;
  const std::uint32_t threshold = which.threshold();
  const auto scale = static_cast<float>(which.kept_scale());
  DropoutWords words;  // NOLINT(*-member-init): drawn below
  for (std::int64_t row = 0; row < x.rows; ++row) {
    for (std::int64_t block = 0; block < quarter; block += kBlocksAtOnce) {
      const std::int64_t blocks = std::min(kBlocksAtOnce, quarter - block);
      draw_words(which, static_cast<std::uint64_t>((which.first_row + row) * quarter + block),
                 blocks, words);
      for (std::int64_t word = 0; word < 4; ++word) {
        const std::int64_t col = word * quarter + block;
        const float* in = x.f32() + row * x.stride + col;
        float* out = y.f32() + row * y.stride + col;
        const std::uint32_t* bits = words[static_cast<std::size_t>(word)].data();
        for_lanes(std::min(blocks, x.cols - col), [=](auto d, std::int64_t i) HWY_ATTR {
          const hn::RebindToUnsigned<decltype(d)> whole;
          const auto dropped =
              hn::RebindMask(d, hn::Lt(hn::LoadU(whole, bits + i), hn::Set(whole, threshold)));
          const auto kept =
              hn::IfThenZeroElse(dropped, hn::Mul(hn::LoadU(d, in + i), hn::Set(d, scale)));
          hn::StoreU(accumulate ? hn::Add(hn::LoadU(d, out + i), kept) : kept, d, out + i);
        });
      }
    }
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace tunebench::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tunebench::engine::cpu {

HWY_EXPORT(DropoutRows);

void dropout_rows(const Dropout& which, View x, View y, bool accumulate) {
  HWY_DYNAMIC_DISPATCH(DropoutRows)(which, x, y, accumulate);
}

}  // namespace tunebench::engine::cpu
#endif
