// LoRA: beside each chosen projection y = x W^T stands s (x A^T) B^T with A [r, in], B [out, r] and
// s = alpha / r, rank-stabilised alpha / sqrt(r). W is frozen.
// Source: Hu et al. 2021, arXiv:2106.09685; Kalajdzievski 2023, arXiv:2312.03732; names and
// defaults of huggingface/peft 0.21.2, tuners/lora.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/engine/methods/added_values.h"
#include "tunebench/engine/methods/make_methods.h"
#include "tunebench/engine/methods/peft_config.h"
#include "tunebench/engine/methods/saved_modules.h"
#include "tunebench/engine/methods/target_modules.h"

namespace tunebench::engine {
namespace {

struct LoraSettings {
  std::int64_t rank = 8;
  double scale = 1.0;
  double dropout = 0.0;
};

/// The adapted modules of one of the engine's projections. They read the same input, so their A
/// are one matrix; with dropout each reads it with elements of its own dropped.
class LoraAdapter final : public Adapter {
 public:
  struct Module {
    std::int64_t first = 0;  ///< of its outputs
    std::uint64_t number = 0;
    const Parameter* b = nullptr;
  };

  LoraAdapter(const LoraSettings& settings, const Parameter& a, std::vector<Module> modules)
      : settings_(settings), a_(a), modules_(std::move(modules)) {}

  void forward(const Exec& exec, const Affine& base, View x, View y) const override {
    base.forward(exec, x, y);
    Scratch scratch(exec.arena);
    const View u = scratch.take(x.rows, a_.value.rows, x.dtype);
    if (!drops(exec)) {
      exec.ops.gemm(false, true, x, a_.value, u, false);
    } else {
      const View kept = scratch.take(x.rows, x.cols, x.dtype);
      for (std::size_t i = 0; i < modules_.size(); ++i) {
        exec.ops.dropout(dropout(exec, i), x, kept, false);
        exec.ops.gemm(false, true, kept, rows_of(a_.value, i), cols_of(u, i), false);
      }
    }
    exec.ops.scale(settings_.scale, u, u);
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      exec.ops.gemm(false, true, cols_of(u, i), modules_[i].b->value, outputs_of(y, i), true);
    }
  }

  /// With v = s dy B: dB = dy^T (s u), dA = v^T x, dx += v A. u is made again: that costs less than
  /// keeping it would.
  void backward(const Exec& exec, const Affine& base, View dy, View x, View dx) const override {
    base.backward(exec, dy, x, dx);
    Scratch scratch(exec.arena);
    const View u = scratch.take(x.rows, a_.value.rows, x.dtype);
    const View v = scratch.take(x.rows, a_.value.rows, x.dtype);
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      exec.ops.gemm(false, false, outputs_of(dy, i), modules_[i].b->value, cols_of(v, i), false);
    }
    exec.ops.scale(settings_.scale, v, v);
    if (!drops(exec)) {
      exec.ops.gemm(false, true, x, a_.value, u, false);
      exec.ops.gemm(true, false, v, x, a_.gradient, exec.accumulate);
      exec.ops.gemm(false, false, v, a_.value, dx, true);
    } else {
      const View kept = scratch.take(x.rows, x.cols, x.dtype);
      for (std::size_t i = 0; i < modules_.size(); ++i) {
        const Dropout which = dropout(exec, i);
        exec.ops.dropout(which, x, kept, false);
        exec.ops.gemm(false, true, kept, rows_of(a_.value, i), cols_of(u, i), false);
        exec.ops.gemm(true, false, cols_of(v, i), kept, rows_of(a_.gradient, i), exec.accumulate);
        exec.ops.gemm(false, false, cols_of(v, i), rows_of(a_.value, i), kept, false);
        exec.ops.dropout(which, kept, dx, true);
      }
    }
    exec.ops.scale(settings_.scale, u, u);
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      exec.ops.gemm(true, false, outputs_of(dy, i), cols_of(u, i), modules_[i].b->gradient,
                    exec.accumulate);
    }
  }

 private:
  [[nodiscard]] bool drops(const Exec& exec) const {
    return exec.chance.drops && settings_.dropout > 0.0;
  }
  /// A stream for each module and step.
  [[nodiscard]] Dropout dropout(const Exec& exec, std::size_t module) const {
    constexpr unsigned kModuleBits = 24;
    return {.probability = settings_.dropout,
            .seed = exec.chance.seed,
            .stream = exec.chance.step << kModuleBits | modules_[module].number,
            .first_row = exec.chance.first_row};
  }
  [[nodiscard]] View rows_of(const View& a, std::size_t module) const {
    return a.row_range(static_cast<std::int64_t>(module) * settings_.rank, settings_.rank);
  }
  [[nodiscard]] View cols_of(const View& u, std::size_t module) const {
    return u.col_range(static_cast<std::int64_t>(module) * settings_.rank, settings_.rank);
  }
  [[nodiscard]] View outputs_of(const View& y, std::size_t module) const {
    return y.col_range(modules_[module].first, modules_[module].b->value.rows);
  }

  LoraSettings settings_;
  const Parameter& a_;
  std::vector<Module> modules_;
};

class Lora final : public Method {
 public:
  Lora(const Json& config, std::string_view origin) {
    PeftConfig reader(config, origin);
    settings_.rank = reader.integer("r", 8, 1, 1 << 20);
    alpha_ = reader.real("lora_alpha", 8.0);
    rank_stabilised_ = reader.boolean("use_rslora", false);
    const auto rank = static_cast<double>(settings_.rank);
    settings_.scale = alpha_ / (rank_stabilised_ ? std::sqrt(rank) : rank);
    settings_.dropout = reader.real("lora_dropout", 0.0);
    if (!(settings_.dropout >= 0.0 && settings_.dropout < 1.0)) {
      reader.refuse("lora_dropout", "must be 0 or more and below 1");
    }
    bias_ = reader.text("bias", "none");
    if (bias_ != "none" && bias_ != "all" && bias_ != "lora_only") {
      reader.refuse("bias", "must be none, all or lora_only");
    }
    target_modules_ = module_names(reader, "target_modules", true);
    modules_to_save_ = module_names(reader, "modules_to_save", false);
    check_beginning(reader);
    // Every family stores its projections [out, in], so PEFT passes over fan_in_fan_out, too. The
    // other two mean something only beside settings that are refused.
    reader.finish(
        std::array<std::string_view, 3>{"fan_in_fan_out", "megatron_core", "qalora_group_size"});
  }

  [[nodiscard]] Json config() const override {
    return Json::object({{"peft_type", "LORA"},
                         {"task_type", "CAUSAL_LM"},
                         {"r", settings_.rank},
                         {"lora_alpha", alpha_},
                         {"lora_dropout", settings_.dropout},
                         {"target_modules", target_modules_},
                         {"bias", bias_},
                         {"use_rslora", rank_stabilised_},
                         {"use_dora", false},
                         {"fan_in_fan_out", false},
                         {"init_lora_weights", true},
                         {"modules_to_save", modules_to_save_},
                         {"rank_pattern", Json::object()},
                         {"alpha_pattern", Json::object()}});
  }

  [[nodiscard]] model::ModelSpec shape(const model::ModelSpec& spec) const override {
    return shape_with_saved(spec, modules_to_save_);
  }

  [[nodiscard]] Training training(const model::ModelSpec& spec) const override {
    Training training;
    training.whole_model = false;
    training.tensors = saved_tensors(spec, modules_to_save_);
    const std::vector<TargetModule> targets = find_targets(spec, target_modules_);
    add_biases(spec, targets, training.tensors);
    for (const std::vector<TargetModule>& group : groups_of(targets)) {
      AddedMatrix a{.parts = {}, .cols = group.front().inputs};
      for (const TargetModule& module : group) {
        a.parts.push_back({tensor_name(module, "lora_A"), settings_.rank});
      }
      training.added.push_back(std::move(a));
      for (const TargetModule& module : group) {
        training.added.push_back(
            {.parts = {{tensor_name(module, "lora_B"), module.outputs}}, .cols = settings_.rank});
      }
    }
    return training;
  }

  [[nodiscard]] std::vector<std::unique_ptr<Adapter>> attach(
      const model::ModelSpec& spec, Parameters& parameters) const override {
    std::vector<std::unique_ptr<Adapter>> adapters;
    std::size_t matrix = 0;
    std::uint64_t number = 0;
    for (const std::vector<TargetModule>& group : groups_of(find_targets(spec, target_modules_))) {
      const Parameter& a = parameters.added_matrix(matrix++);
      std::vector<LoraAdapter::Module> modules;
      for (const TargetModule& module : group) {
        modules.push_back({module.first, number++, &parameters.added_matrix(matrix++)});
      }
      adapters.push_back(std::make_unique<LoraAdapter>(settings_, a, std::move(modules)));
      parameters.adapt(group.front().layer, group.front().projection, adapters.back().get());
    }
    return adapters;
  }

  /// A uniform in +-1 / sqrt(in), as PyTorch's kaiming_uniform_(a = sqrt(5)) has it; B zero.
  void begin(const model::ModelSpec& /*spec*/, const Beginning& beginning,
             const Parameters& parameters) const override {
    for (const Parameters::Named& tensor : parameters.added()) {
      if (tensor.name.ends_with(".lora_A.weight")) {
        const View& a = tensor.parameter.value;
        draw_uniform(beginning.seed, tensor.name, 1.0 / std::sqrt(static_cast<double>(a.cols)), a);
      }
    }
  }

  [[nodiscard]] std::string stored_name(const model::ModelSpec& spec,
                                        std::string_view tensor) const override {
    constexpr std::string_view kBias = ".bias";
    if (tensor.ends_with(kBias)) {
      const std::string_view module = tensor.substr(0, tensor.size() - kBias.size());
      for (const TargetModule& target : find_targets(spec, target_modules_)) {
        if (target.name == module) {
          return fmt::format("base_model.model.{}.base_layer.bias", module);
        }
      }
    }
    return Method::stored_name(spec, tensor);
  }

 private:
  static std::string tensor_name(const TargetModule& module, std::string_view which) {
    return fmt::format("base_model.model.{}.{}.weight", module.name, which);
  }

  /// Ways to begin that change the weights of the base are not ours.
  static void check_beginning(PeftConfig& reader) {
    const Json& way = reader.value("init_lora_weights");
    if (way.is_string() && way.as_string() != "gaussian") {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("init_lora_weights '{}' is not supported: it may change the weights "
                              "of the model",
                              printable(way.as_string())));
    }
  }

  /// The modules of each of the engine's projections, which follow each other.
  static std::vector<std::vector<TargetModule>> groups_of(
      const std::vector<TargetModule>& targets) {
    std::vector<std::vector<TargetModule>> groups;
    for (const TargetModule& module : targets) {
      if (groups.empty() || groups.back().front().layer != module.layer ||
          groups.back().front().projection != module.projection) {
        groups.emplace_back();
      }
      groups.back().push_back(module);
    }
    return groups;
  }

  void add_biases(const model::ModelSpec& spec, const std::vector<TargetModule>& targets,
                  std::vector<std::string>& tensors) const {
    const auto add = [&tensors](std::string name) {
      if (std::find(tensors.begin(), tensors.end(), name) == tensors.end()) {
        tensors.push_back(std::move(name));
      }
    };
    if (bias_ == "all") {
      for (const model::TensorShape& tensor : model::tensor_shapes(spec)) {
        if (tensor.name.ends_with(".bias")) {
          add(tensor.name);
        }
      }
    } else if (bias_ == "lora_only") {
      for (const TargetModule& module : targets) {
        if (module.bias) {
          add(module.name + ".bias");
        }
      }
    }
  }

  LoraSettings settings_;
  double alpha_ = 8.0;
  bool rank_stabilised_ = false;
  std::string bias_;
  Json target_modules_;
  Json modules_to_save_;
};

}  // namespace

std::unique_ptr<Method> make_lora(const Json& config, std::string_view origin) {
  return std::make_unique<Lora>(config, origin);
}

}  // namespace tunebench::engine
