// After its first step, training takes no memory from the heap. operator new of this whole test
// program counts, which is what shows it.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/engine/train/fine_tuning.h"

namespace {
std::atomic<std::int64_t> allocations{0};

void* counted(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
}  // namespace

void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new[](std::size_t size) {
  return counted(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace tunebench::engine {
namespace {

data::MicroBatch counted_batch(std::int64_t samples, std::int64_t length) {
  data::MicroBatch batch;
  batch.samples = samples;
  batch.length = length;
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    batch.ids.push_back(static_cast<std::int32_t>(i % 40));
    batch.labels.push_back(i % 5 == 0 ? data::kIgnoredLabel
                                      : static_cast<std::int32_t>((i + 1) % 40));
  }
  return batch;
}

TEST(AllocationTest, TheCounterCounts) {
  const std::int64_t before = allocations;
  const std::vector<int> numbers(100);
  EXPECT_GT(allocations, before) << numbers.size();
}

model::ModelSource counted_source() {
  model::ModelSource source;
  source.spec.vocabulary = 40;
  source.spec.width = 32;
  source.spec.layers = 3;
  source.spec.heads = 4;
  source.spec.kv_heads = 2;
  source.spec.head_width = 8;
  source.spec.feed_forward = 48;
  source.spec.max_positions = 64;
  return source;
}

void expect_no_allocation(const model::ModelSource& source) {
  FineTuningOptions options;
  options.max_samples = 4;
  options.max_length = 40;
  const std::vector<data::MicroBatch> batches = {counted_batch(4, 40), counted_batch(2, 17)};
  for (const Recompute rung : kRecomputeLadder) {
    options.memory_bytes = FineTuning::plan(source.spec, options, rung, *make_cpu_ops(2)).bytes;
    FineTuning tuning(source, options, make_cpu_ops(2));
    ASSERT_EQ(tuning.recompute(), rung);
    static_cast<void>(tuning.step(batches));
    const std::int64_t before = allocations;
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(tuning.step(batches));
    }
    EXPECT_EQ(allocations, before) << recompute_name(rung);
  }
}

TEST(AllocationTest, NothingIsAllocatedInAStepAfterTheFirst) {
  model::ModelSource source = counted_source();
  source.spec.qkv_bias = true;
  expect_no_allocation(source);
}

TEST(AllocationTest, NothingIsAllocatedForExpertsAfterTheFirstStep) {
  model::ModelSource source = counted_source();
  source.spec.model_type = "granitemoeshared";
  source.spec.experts = {.count = 8, .chosen = 3, .loss_share = 0.1, .shared = 16};
  expect_no_allocation(source);
}

}  // namespace
}  // namespace tunebench::engine
