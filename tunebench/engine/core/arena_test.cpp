#include "tunebench/engine/core/arena.h"

#include <cstdint>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::engine {
namespace {

/// Takes memory as a model would: two parts to keep, a stack of scratch two deep.
void take_some(Arena& arena) {
  static_cast<void>(arena.persistent("weights", 3, 5, DType::F32));
  static_cast<void>(arena.persistent("gradients", 1, 7, DType::F64));
  static_cast<void>(arena.persistent("weights", 2, 16, DType::F32));
  Scratch outer(arena);
  static_cast<void>(outer.take(4, 4, DType::F32));
  {
    Scratch inner(arena);
    static_cast<void>(inner.take(8, 8, DType::F64));
  }
  static_cast<void>(outer.take(1, 1, DType::F32));
}

TEST(ArenaTest, CountsEachBlockRoundedUpToSixtyFourBytes) {
  Arena arena = Arena::plan_only();
  take_some(arena);
  const std::vector<Arena::Part> parts = arena.report();
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].name, "weights");
  EXPECT_EQ(parts[0].bytes, 64 + 128);
  EXPECT_EQ(parts[1].name, "gradients");
  EXPECT_EQ(parts[1].bytes, 64);
  EXPECT_EQ(parts[2].name, "scratch");
  EXPECT_EQ(parts[2].bytes, 64 + 512);
  EXPECT_EQ(arena.high_water(), 256 + 576);
}

TEST(ArenaTest, HandsOutViewsWithoutMemoryWhilePlanning) {
  Arena arena = Arena::plan_only();
  EXPECT_TRUE(arena.planning());
  const View view = arena.persistent("weights", 1000000, 1000000, DType::F32);
  EXPECT_TRUE(view.empty());
  EXPECT_EQ(view.rows, 1000000);
  EXPECT_TRUE(arena.push_scratch(10, 10, DType::F64).empty());
}

TEST(ArenaTest, UsesExactlyWhatAPlanCounted) {
  Arena plan = Arena::plan_only();
  take_some(plan);
  Arena arena = Arena::reserve(plan.persistent_bytes(), plan.scratch_high_water());
  take_some(arena);
  EXPECT_FALSE(arena.planning());
  EXPECT_EQ(arena.high_water(), plan.high_water());
  EXPECT_EQ(arena.scratch_mark(), 0);
}

TEST(ArenaTest, RefusesToTakeMoreThanWasReserved) {
  Arena arena = Arena::reserve(64, 64);
  static_cast<void>(arena.persistent("weights", 1, 16, DType::F32));
  EXPECT_THROW(static_cast<void>(arena.persistent("weights", 1, 1, DType::F32)), Error);
  EXPECT_THROW(static_cast<void>(arena.push_scratch(1, 17, DType::F32)), Error);
}

TEST(ArenaTest, GivesZeroedAlignedMemory) {
  Arena arena = Arena::reserve(4096, 0);
  static_cast<void>(arena.persistent("weights", 1, 1, DType::F32));
  const View view = arena.persistent("weights", 3, 7, DType::F64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data) % 64, 0U);
  for (std::int64_t i = 0; i < view.elements(); ++i) {
    EXPECT_EQ(view.f64()[i], 0.0);
  }
}

TEST(ArenaTest, GivesScratchBackInStackOrder) {
  Arena arena = Arena::reserve(0, 256);
  const View first = arena.push_scratch(1, 16, DType::F32);
  const std::int64_t mark = arena.scratch_mark();
  const View second = arena.push_scratch(1, 16, DType::F32);
  arena.pop_scratch(mark);
  EXPECT_EQ(arena.push_scratch(1, 8, DType::F32).data, second.data);
  EXPECT_NE(first.data, second.data);
  EXPECT_THROW(arena.pop_scratch(1024), Error);
}

TEST(ArenaTest, RefusesSizesWhoseProductsOverflow) {
  const std::int64_t large = std::int64_t{1} << 40;
  Arena arena = Arena::plan_only();
  try {
    static_cast<void>(arena.persistent("weights", large, large, DType::F32));
    FAIL() << "planned 2^82 bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
    EXPECT_EQ(error.message(), "the memory needed exceeds 8 EiB");
  }
  static_cast<void>(arena.persistent("weights", large, std::int64_t{1} << 20, DType::F32));
  EXPECT_THROW(
      static_cast<void>(arena.persistent("weights", large, std::int64_t{1} << 20, DType::F32)),
      Error);
}

TEST(ArenaTest, NamesBothSizesWhenTheSystemRefuses) {
  const std::int64_t too_much = std::int64_t{1} << 55;
  try {
    static_cast<void>(Arena::reserve(too_much, 1024));
    FAIL() << "reserved 32 PiB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::OutOfMemory);
    EXPECT_THAT(error.message(), testing::HasSubstr("to keep and 1.00 KiB of scratch"));
    EXPECT_THAT(error.message(), testing::HasSubstr("the system refuses the memory"));
  }
}

}  // namespace
}  // namespace tunebench::engine
