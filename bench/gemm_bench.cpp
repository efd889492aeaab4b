// How products are best cut among threads: each product of a Llama layer and head as rows, as
// columns and as choose_grid() cuts it, interleaved. The last line of stdout is a JSON array.
#include "tunebench/engine/ops/cpu/gemm.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/one_line.h"
#include "tunebench/base/thread_pool.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/model/model_source.h"

namespace tunebench::bench {
namespace {

using engine::DType;
using engine::Matrix;
using engine::View;
using engine::cpu::Grid;
using engine::cpu::Product;

struct Options {
  std::string model = "smollm2-135m";
  std::int64_t tokens = 512;
  std::int64_t head_rows = 256;
  int threads = 0;
  int rounds = 5;
  double flops_a_round = 2e10;
};

struct Size {
  std::string name;
  std::int64_t tokens;
  std::int64_t out;
  std::int64_t in;
};

struct Candidate {
  std::string name;
  Grid grid;
  double best_gflops = 0;
};

std::vector<Size> sizes_of(const model::ModelSpec& spec, const Options& options) {
  const std::int64_t query = spec.heads * spec.head_width;
  const std::int64_t fused = query + 2 * spec.kv_heads * spec.head_width;
  return {{"qkv", options.tokens, fused, spec.width},
          {"o", options.tokens, spec.width, query},
          {"gate_up", options.tokens, 2 * spec.feed_forward, spec.width},
          {"down", options.tokens, spec.width, spec.feed_forward},
          {"head", options.head_rows, spec.vocabulary, spec.width}};
}

/// Best rate of each candidate over the rounds; candidates take turns within a round.
void measure(ThreadPool& pool, const Product& product, const Options& options,
             std::vector<Candidate>& candidates) {
  const double flops = 2.0 * static_cast<double>(product.c.elements()) *
                       static_cast<double>(engine::cpu::inner_size(product));
  const int repeats = std::max(1, static_cast<int>(options.flops_a_round / flops));
  for (int round = 0; round < options.rounds; ++round) {
    for (Candidate& candidate : candidates) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < repeats; ++i) {
        engine::cpu::multiply(pool, product, candidate.grid);
      }
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      candidate.best_gflops =
          std::max(candidate.best_gflops, flops * repeats / taken.count() * 1e-9);
    }
  }
}

void run(const Options& options) {
  const model::ModelSpec spec = model::resolve_model(options.model).spec;
  ThreadPool pool(options.threads);
  engine::cpu::keep_product_workspace();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Size& size : sizes_of(spec, options)) {
    Matrix x = Matrix::normal(size.tokens, size.in, DType::F32, 1);
    Matrix weight = Matrix::normal(size.out, size.in, DType::F32, 2);
    Matrix y = Matrix::normal(size.tokens, size.out, DType::F32, 3);
    const std::vector<std::pair<std::string, Product>> products = {
        {"forward", {.transpose_b = true, .a = x.view(), .b = weight.view(), .c = y.view()}},
        {"dx", {.a = y.view(), .b = weight.view(), .c = x.view()}},
        {"dw", {.transpose_a = true, .a = y.view(), .b = x.view(), .c = weight.view()}}};
    for (const auto& [pass, product] : products) {
      const Grid chosen = engine::cpu::choose_grid(product.c.rows, product.c.cols, pool.size());
      std::vector<Candidate> candidates = {
          {"rows", {pool.size(), 1}}, {"cols", {1, pool.size()}}, {"chosen", chosen}};
      measure(pool, product, options, candidates);
      nlohmann::ordered_json row = {{"product", size.name + " " + pass},
                                    {"rows", product.c.rows},
                                    {"cols", product.c.cols},
                                    {"inner", engine::cpu::inner_size(product)},
                                    {"grid", {chosen.rows, chosen.cols}}};
      std::string line = fmt::format("{:16}", size.name + " " + pass);
      for (const Candidate& candidate : candidates) {
        row[candidate.name] = candidate.best_gflops;
        line += fmt::format("  {} {:6.1f}", candidate.name, candidate.best_gflops);
      }
      fmt::print("{} GFLOP/s\n", line);
      rows.push_back(row);
    }
  }
  fmt::print("{}\n", rows.dump());
}

}  // namespace
}  // namespace tunebench::bench

int main(int argc, char** argv) {
  tunebench::bench::Options options;
  CLI::App app("Ways to cut matrix products among threads.");
  app.add_option("--model", options.model, "preset or folder")->capture_default_str();
  app.add_option("--tokens", options.tokens)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--head-rows", options.head_rows)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", options.threads, "0: all usable cores")->capture_default_str();
  app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--flops", options.flops_a_round, "arithmetic of one timing")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return tunebench::bench::one_line_for_a_failure("gemm_bench", [&options] {
    tunebench::bench::run(options);
    return 0;
  });
}
