#include "tunebench/engine/train/initial_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/random.h"
#include "tunebench/base/thread_pool.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/safetensors.h"
#include "tunebench/model/weight_check.h"

namespace tunebench::engine {
namespace {

/// Elements drawn at once: 64 KiB of float32 stay in a core's cache.
constexpr std::int64_t kPiece = 1 << 14;

void round_weights(std::span<float> values, WeightRounding rounding) {
  switch (rounding) {
    case WeightRounding::None:
      return;
    case WeightRounding::Bfloat16:
      for (float& value : values) {
        value = model::float_from_bfloat16(model::bfloat16_from_float(value));
      }
      return;
    case WeightRounding::Half:
      for (float& value : values) {
        value = model::float_from_half(model::half_from_float(value));
      }
      return;
  }
}

/// Float32 values to whatever dtype the parameters have, from element `first` on.
void put(std::span<const float> values, const View& to, std::int64_t first) {
  TB_CHECK(to.contiguous());
  if (to.dtype == DType::F64) {
    std::copy(values.begin(), values.end(), to.f64() + first);
  } else {
    std::copy(values.begin(), values.end(), to.f32() + first);
  }
}

/// FNV-1a: the random stream of a tensor.
std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211U;
  }
  return hash;
}

/// Two standard normals by Box-Muller, in float32: four come from one Philox block, which makes
/// 135 million of them a matter of a second.
std::array<float, 2> two_normals(std::uint32_t a, std::uint32_t b) {
  constexpr float kUnit = 0x1p-32F;
  constexpr float kTurn = 2.0F * std::numbers::pi_v<float>;
  // + 0.5 keeps the logarithm finite.
  const float radius = std::sqrt(-2.0F * std::log((static_cast<float>(a) + 0.5F) * kUnit));
  const float angle = kTurn * kUnit * static_cast<float>(b);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

void draw_tensor(const View& to, std::string_view name, std::uint64_t seed, double deviation,
                 WeightRounding rounding, ThreadPool& pool) {
  const std::int64_t elements = to.elements();
  pool.for_each_task((elements + kPiece - 1) / kPiece, [&](std::int64_t task, int /*thread*/) {
    std::array<float, kPiece> buffer;  // NOLINT(*-member-init): filled below
    const std::int64_t first = task * kPiece;
    const std::span<float> values(buffer.data(),
                                  static_cast<std::size_t>(std::min(kPiece, elements - first)));
    draw_normal(seed, name, first, deviation, values);
    round_weights(values, rounding);
    put(values, to, first);
  });
}

/// The tensor that a parameter begins as. A head that was untied to be trained apart begins as the
/// embedding.
std::string beginning_of(const model::ModelSpec& spec, const std::string& name) {
  const model::TensorNames& names = model::family_of(spec).names;
  return spec.tied_head && name == fmt::format("{}.weight", names.head)
             ? fmt::format("{}.weight", names.embedding)
             : name;
}

}  // namespace

WeightRounding weight_rounding(std::string_view torch_dtype) {
  if (torch_dtype == "float32") {
    return WeightRounding::None;
  }
  if (torch_dtype == "bfloat16") {
    return WeightRounding::Bfloat16;
  }
  if (torch_dtype == "float16") {
    return WeightRounding::Half;
  }
  throw Error(ErrorCode::InvalidInput,
              fmt::format("torch_dtype '{}' is not known; choose bfloat16, float16 or float32",
                          torch_dtype));
}

void load_weights(const model::ModelSource& source, WeightRounding rounding,
                  const Parameters& parameters) {
  TB_CHECK(source.folder.has_value());
  const model::SafetensorsSet stored = model::SafetensorsSet::open_folder(*source.folder);
  std::vector<float> buffer;
  for (const Parameters::Named& tensor : parameters.named()) {
    const View& to = tensor.parameter.value;
    const model::StoredTensor* const from =
        model::find_weight(stored, beginning_of(source.spec, tensor.name));
    if (from == nullptr || from->elements() != to.elements()) {
      throw Error(ErrorCode::Corrupt,
                  fmt::format("{}: tensor '{}' {}; get the model again",
                              display_path(*source.folder), tensor.name,
                              from == nullptr ? std::string("is missing")
                                              : fmt::format("has {} elements, not {}",
                                                            from->elements(), to.elements())));
    }
    if (to.dtype == DType::F32) {
      const std::span<float> values(to.f32(), static_cast<std::size_t>(to.elements()));
      stored.read_float32(*from, values);
      round_weights(values, rounding);
    } else {
      buffer.resize(static_cast<std::size_t>(to.elements()));
      stored.read_float32(*from, buffer);
      round_weights(buffer, rounding);
      put(buffer, to, 0);
    }
  }
}

void draw_weights(const model::ModelSpec& spec, std::uint64_t seed, WeightRounding rounding,
                  const Parameters& parameters) {
  ThreadPool pool;
  const std::array<float, 1> one = {1.0F};
  for (const Parameters::Named& tensor : parameters.named()) {
    switch (tensor.initial) {
      case Parameters::Initial::Normal:
        draw_tensor(tensor.parameter.value, beginning_of(spec, tensor.name), seed,
                    spec.initializer_range, rounding, pool);
        break;
      case Parameters::Initial::One:
        for (std::int64_t i = 0; i < tensor.parameter.value.elements(); ++i) {
          put(one, tensor.parameter.value, i);
        }
        break;
      case Parameters::Initial::Zero:
        break;  // planned memory begins as zeros
    }
  }
}

void draw_normal(std::uint64_t seed, std::string_view name, std::int64_t first, double deviation,
                 std::span<float> out) {
  TB_CHECK(first % 4 == 0);
  const std::uint64_t stream = stream_of(name);
  const auto scale = static_cast<float>(deviation);
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const std::array<std::uint32_t, 4> bits =
        philox(seed, stream, static_cast<std::uint64_t>(first) / 4 + i / 4);
    const auto [a, b] = two_normals(bits[0], bits[1]);
    const auto [c, d] = two_normals(bits[2], bits[3]);
    const std::array<float, 4> four = {a * scale, b * scale, c * scale, d * scale};
    std::copy_n(four.begin(), std::min<std::size_t>(4, out.size() - i),
                out.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace tunebench::engine
