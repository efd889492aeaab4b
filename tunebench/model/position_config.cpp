#include "tunebench/model/position_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/model/rope.h"

namespace tunebench::model {
namespace {

using Type = RopeScaling::Type;

constexpr std::int64_t kLargestPosition = std::int64_t{1} << 31;
constexpr std::string_view kOriginal = "original_max_position_embeddings";

constexpr std::array<std::pair<std::string_view, Type>, 7> kRopeTypes = {{
    {"default", Type::None},
    {"none", Type::None},
    {"linear", Type::Linear},
    {"llama3", Type::Llama3},
    {"dynamic", Type::Dynamic},
    {"yarn", Type::Yarn},
    {"longrope", Type::LongRope},
}};

Type rope_type(ConfigReader& block, const Family& family) {
  const std::optional<std::string> type = block.text("rope_type");
  const std::optional<std::string> older = block.text("type");
  if (type && older && *type != *older) {
    throw block.invalid("type", fmt::format("the same as rope_type, {}", *type));
  }
  std::string name = type ? *type : older.value_or("default");
  // Early files of Phi-3 call longrope by these names.
  if (family.partial_rotary && (name == "su" || name == "yarn")) {
    name = "longrope";
  }
  for (const auto& [known, meaning] : kRopeTypes) {
    if (known == name) {
      return meaning;
    }
  }
  throw block.unsupported(type ? "rope_type" : "type",
                          "this program knows default, linear, llama3, dynamic, yarn and longrope");
}

std::vector<double> factors(ConfigReader& block, std::string_view key, std::int64_t pairs) {
  const Json* list = block.value(key);
  std::vector<double> numbers;
  if (list != nullptr && list->is_array()) {
    for (const Json& number : list->as_array()) {
      if (number.is_number() && number.as_double() > 0 && std::isfinite(number.as_double())) {
        numbers.push_back(number.as_double());
      }
    }
  }
  if (list == nullptr || !list->is_array() || std::ssize(numbers) != pairs ||
      numbers.size() != list->as_array().size()) {
    throw block.invalid(key, fmt::format("a list of {} numbers above 0", pairs));
  }
  return numbers;
}

void read_llama3(ConfigReader& block, RopeScaling& scaling) {
  scaling.factor = block.positive("factor");
  scaling.low_freq_factor = block.positive("low_freq_factor");
  scaling.high_freq_factor = block.positive("high_freq_factor");
  if (scaling.high_freq_factor <= scaling.low_freq_factor) {
    throw block.invalid("high_freq_factor", fmt::format("more than low_freq_factor {}",
                                                        shortest(scaling.low_freq_factor)));
  }
}

void read_yarn(ConfigReader& block, const ModelSpec& spec, RopeScaling& scaling) {
  scaling.factor =
      block.positive_or("factor", static_cast<double>(spec.max_positions) /
                                      static_cast<double>(scaling.original_max_positions));
  // The two scales of DeepSeek take part only together.
  const double scale = block.positive_or("mscale", 1.0);
  const double all = block.positive_or("mscale_all_dim", 1.0);
  const bool both = block.stated("mscale") && block.stated("mscale_all_dim");
  const auto amplitude = [&](double weight) {
    return 1.0 + weight * (yarn_amplitude(scaling.factor) - 1.0);
  };
  scaling.amplitude = block.positive_or("attention_factor",
                                        both ? amplitude(scale) / amplitude(all) : amplitude(1.0));
  scaling.beta_fast = block.positive_or("beta_fast", scaling.beta_fast);
  scaling.beta_slow = block.positive_or("beta_slow", scaling.beta_slow);
  scaling.truncate = block.boolean_or("truncate", true);
  if (scaling.beta_fast < scaling.beta_slow) {
    throw block.invalid("beta_fast",
                        fmt::format("at least beta_slow {}", shortest(scaling.beta_slow)));
  }
}

void read_longrope(ConfigReader& block, const ModelSpec& spec, RopeScaling& scaling) {
  scaling.short_factors = factors(block, "short_factor", spec.rotated() / 2);
  scaling.long_factors = factors(block, "long_factor", spec.rotated() / 2);
  scaling.factor =
      block.positive_or("factor", static_cast<double>(spec.max_positions) /
                                      static_cast<double>(scaling.original_max_positions));
  scaling.amplitude = block.positive_or(
      "attention_factor", longrope_amplitude(scaling.factor, scaling.original_max_positions));
}

/// The trained range: in the block, beside it, else max_position_embeddings.
std::int64_t read_original(ConfigReader& reader, ConfigReader& block, std::string_view key,
                           const ModelSpec& spec) {
  const std::int64_t outside = reader.size_or(kOriginal, spec.max_positions, kLargestPosition);
  const std::int64_t inside = block.size_or(kOriginal, outside, kLargestPosition);
  if (reader.stated(kOriginal) && inside != outside) {
    throw reader.unsupported(kOriginal, fmt::format("and {} says something else; keep one", key));
  }
  return inside;
}

void refuse_rest(const ConfigReader& block) {
  for (const std::string& key : block.unread()) {
    if (block.stated(key)) {
      throw block.unsupported(key, "which this program does not understand");
    }
  }
}

RopeScaling read_scaling(ConfigReader& block, std::int64_t original, const Family& family,
                         const ModelSpec& spec) {
  RopeScaling scaling;
  scaling.type = rope_type(block, family);
  if (scaling.type != Type::None && scaling.type != Type::Linear) {
    scaling.original_max_positions = original;
  }
  switch (scaling.type) {
    case Type::None:
      if (block.positive_or("factor", 1.0) != 1.0) {
        throw block.unsupported("factor", "but the rope type does not scale");
      }
      break;
    case Type::Linear:
      scaling.factor = block.positive("factor");
      break;
    case Type::Dynamic:
      scaling.factor = block.positive("factor");
      if (original != spec.max_positions) {
        throw block.unsupported(kOriginal, fmt::format("dynamic scaling begins at "
                                                       "max_position_embeddings {}",
                                                       spec.max_positions));
      }
      if (scaling.factor < 1.0 || spec.rotated() < 4) {
        throw block.invalid("factor", "at least 1, for heads at least 4 wide");
      }
      break;
    case Type::Llama3:
      read_llama3(block, scaling);
      break;
    case Type::Yarn:
      read_yarn(block, spec, scaling);
      break;
    case Type::LongRope:
      read_longrope(block, spec, scaling);
      break;
  }
  refuse_rest(block);
  return scaling;
}

void read_partial(ConfigReader& place, const Family& family, ModelSpec& spec) {
  const double share = place.positive_or("partial_rotary_factor", 1.0);
  if (share == 1.0) {
    return;
  }
  if (!family.partial_rotary) {
    throw place.unsupported("partial_rotary_factor", "only 1 is supported");
  }
  const double width = std::floor(static_cast<double>(spec.head_width) * share);
  if (share > 1.0 || width < 2.0 || std::fmod(width, 2.0) != 0.0) {
    throw place.invalid(
        "partial_rotary_factor",
        fmt::format("a share of head_dim {} that is an even number", spec.head_width));
  }
  spec.rotary_width = static_cast<std::int64_t>(width);
}

/// One block for each kind of layer, as Gemma 3 has it.
void read_blocks_by_layer(ConfigReader& reader, const Json& blocks, const Family& family,
                          ModelSpec& spec) {
  const auto block_of = [&](const char* kind) {
    const Json* block = blocks.find(kind);
    return block == nullptr || block->is_null() ? Json::object() : *block;
  };
  const Json local = block_of("sliding_attention");
  ConfigReader local_block(local,
                           fmt::format("{}: rope_parameters: sliding_attention", reader.origin()));
  if (rope_type(local_block, family) != Type::None) {
    throw local_block.unsupported("rope_type", "layers with a window are not scaled");
  }
  spec.local_rope_theta = local_block.positive_or("rope_theta", spec.local_rope_theta);
  refuse_rest(local_block);
  const Json global = block_of("full_attention");
  ConfigReader global_block(global,
                            fmt::format("{}: rope_parameters: full_attention", reader.origin()));
  spec.rope_theta = global_block.positive_or("rope_theta", spec.rope_theta);
  spec.rope_scaling = read_scaling(
      global_block, read_original(reader, global_block, "rope_parameters", spec), family, spec);
}

bool is_by_layer(const Json& value) {
  return value.is_object() &&
         (value.find("sliding_attention") != nullptr || value.find("full_attention") != nullptr);
}

Json scaling_json(const RopeScaling& scaling) {
  const auto list = [](const std::vector<double>& numbers) {
    return Json::array({numbers.begin(), numbers.end()});
  };
  const auto found = std::find_if(kRopeTypes.begin(), kRopeTypes.end(),
                                  [&](const auto& known) { return known.second == scaling.type; });
  Json block = Json::object();
  block.set("rope_type", found->first);
  switch (scaling.type) {
    case Type::None:
      return nullptr;
    case Type::Linear:
      block.set("type", "linear").set("factor", scaling.factor);
      break;
    case Type::Dynamic:
      block.set("factor", scaling.factor);
      break;
    case Type::Llama3:
      block.set("factor", scaling.factor)
          .set("low_freq_factor", scaling.low_freq_factor)
          .set("high_freq_factor", scaling.high_freq_factor)
          .set(std::string(kOriginal), scaling.original_max_positions);
      break;
    case Type::Yarn:
      block.set("factor", scaling.factor)
          .set("attention_factor", scaling.amplitude)
          .set("beta_fast", scaling.beta_fast)
          .set("beta_slow", scaling.beta_slow)
          .set("truncate", scaling.truncate)
          .set(std::string(kOriginal), scaling.original_max_positions);
      break;
    case Type::LongRope:
      block.set("factor", scaling.factor)
          .set("attention_factor", scaling.amplitude)
          .set("short_factor", list(scaling.short_factors))
          .set("long_factor", list(scaling.long_factors))
          .set(std::string(kOriginal), scaling.original_max_positions);
      break;
  }
  return block;
}

/// Layers in the family's order when the file does not list them.
bool is_local_by_rule(ConfigReader& reader, const Family& family, std::int64_t layer) {
  switch (family.window_rule) {
    case WindowRule::None:
    case WindowRule::All:
      return true;
    case WindowRule::FromLayer:
      return layer >= reader.size_or("max_window_layers", 28, kLargestPosition);
    case WindowRule::EveryOther:
      return layer % 2 == 0;
    case WindowRule::FiveOfSix:
      return (layer + 1) % reader.size_or("sliding_window_pattern", 6, kLargestPosition) != 0;
  }
  return true;
}

std::vector<bool> read_layers(ConfigReader& reader, const Family& family, const ModelSpec& spec) {
  std::vector<bool> local;
  const Json* types = reader.value("layer_types");
  if (types == nullptr) {
    for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
      local.push_back(is_local_by_rule(reader, family, layer));
    }
    return local;
  }
  static_cast<void>(reader.value("max_window_layers"));
  static_cast<void>(reader.value("sliding_window_pattern"));
  if (!types->is_array() || std::ssize(types->as_array()) != spec.layers) {
    throw reader.invalid("layer_types", fmt::format("a list of {} kinds of layer", spec.layers));
  }
  for (const Json& type : types->as_array()) {
    const std::string name = type.is_string() ? type.as_string() : std::string();
    const bool full = name == "full_attention" || name == "attention";
    if (!full && (name != "sliding_attention" || family.window_rule == WindowRule::None)) {
      const bool state_space = name == "mamba" || name == "linear_attention";
      throw reader.unsupported("layer_types",
                               state_space ? kNoStateSpace
                               : family.window_rule == WindowRule::None
                                   ? "only full_attention is supported"
                                   : "only full_attention and sliding_attention are supported");
    }
    local.push_back(!full);
  }
  return local;
}

}  // namespace

void read_rope(ConfigReader& reader, const Family& family, ModelSpec& spec) {
  spec.rope_theta = reader.positive_or("rope_theta", family.rope_theta);
  if (family.local_rope_theta > 0) {
    spec.local_rope_theta = reader.positive_or("rope_local_base_freq", family.local_rope_theta);
  }
  read_partial(reader, family, spec);
  const Json* newer = reader.value("rope_parameters");
  const Json* older = reader.value("rope_scaling");
  if (newer != nullptr && older != nullptr && !(*newer == *older)) {
    throw reader.unsupported("rope_scaling", "and rope_parameters says something else; keep one");
  }
  const std::string_view key = newer != nullptr ? "rope_parameters" : "rope_scaling";
  const Json* value = newer != nullptr ? newer : older;
  if (value == nullptr) {
    static_cast<void>(reader.value(kOriginal));
    return;
  }
  if (family.local_rope_theta > 0 && is_by_layer(*value)) {
    read_blocks_by_layer(reader, *value, family, spec);
    return;
  }
  ConfigReader block(*value, fmt::format("{}: {}", reader.origin(), key));
  spec.rope_theta = block.positive_or("rope_theta", spec.rope_theta);
  read_partial(block, family, spec);
  spec.rope_scaling = read_scaling(block, read_original(reader, block, key, spec), family, spec);
}

void read_window(ConfigReader& reader, const Family& family, ModelSpec& spec) {
  // A file that says null has no window; one without the key has that of its class.
  const std::int64_t silent = reader.has_key("sliding_window") ? 0 : family.window;
  const Json* stated = reader.value("sliding_window");
  // Where there can be none, newer files say 0.
  const bool zero = family.window_rule == WindowRule::None && stated != nullptr &&
                    stated->is_int() && stated->as_int() == 0;
  std::int64_t size = zero                ? 0
                      : stated == nullptr ? silent
                                          : reader.size("sliding_window", kLargestPosition);
  const bool used =
      reader.boolean_or("use_sliding_window", family.window_rule != WindowRule::FromLayer);
  const std::vector<bool> local = read_layers(reader, family, spec);
  const bool some = std::find(local.begin(), local.end(), true) != local.end();
  const bool all = std::find(local.begin(), local.end(), false) == local.end();
  const bool binds = size < longest_sequence(spec);
  // Where local layers rotate by another base they differ even when the window cannot bind.
  if (!used || !some || (!binds && family.local_rope_theta == 0)) {
    size = 0;
  }
  if (size != 0 && family.window_rule == WindowRule::None) {
    throw reader.unsupported("sliding_window",
                             fmt::format("a model of type {} has no window", family.model_type));
  }
  if (size != 0 && family.window_rule == WindowRule::All && !all) {
    throw reader.unsupported("layer_types", fmt::format("a model of type {} has its window in "
                                                        "every layer",
                                                        family.model_type));
  }
  if (size == 0 && some && family.local_rope_theta > 0) {
    throw reader.invalid("sliding_window", "the window of the layers of sliding_attention");
  }
  spec.window = size;
  if (size != 0 && !all) {
    spec.local_layers = local;
  }
}

void write_positions(const ModelSpec& spec, const Family& family, Json& config) {
  if (spec.positions == PositionKind::Rope) {
    config.set("rope_theta", spec.rope_theta).set("rope_scaling", scaling_json(spec.rope_scaling));
  }
  if (family.local_rope_theta > 0) {
    config.set("rope_local_base_freq", spec.local_rope_theta);
  }
  if (spec.rotary_width > 0) {
    config.set("partial_rotary_factor",
               static_cast<double>(spec.rotary_width) / static_cast<double>(spec.head_width));
  }
  if (family.window_rule == WindowRule::None) {
    return;
  }
  config.set("sliding_window", spec.window > 0 ? Json(spec.window) : Json(nullptr));
  if (family.window_rule == WindowRule::FromLayer) {
    config.set("use_sliding_window", spec.window > 0);
  }
  if (!spec.local_layers.empty() || (spec.window > 0 && family.window_rule != WindowRule::All)) {
    Json::Array types;
    for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
      types.emplace_back(spec.local(layer) ? "sliding_attention" : "full_attention");
    }
    config.set("layer_types", Json(std::move(types)));
  }
}

}  // namespace tunebench::model
