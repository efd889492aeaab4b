#include "tunebench/record/column.h"

#include <gtest/gtest.h>

#include "tunebench/record/record.h"

namespace tunebench::record {
namespace {

TEST(ColumnTest, KindsFollowTheTables) {
  EXPECT_EQ(column_kind("batch_size"), ColumnKind::Integer);
  EXPECT_EQ(column_kind("fast_kernels"), ColumnKind::List);
  EXPECT_EQ(column_kind("tokens_per_s"), ColumnKind::Real);
  EXPECT_EQ(column_kind("is_valid"), ColumnKind::Boolean);
  EXPECT_EQ(column_kind("repeat"), ColumnKind::Integer);
  EXPECT_EQ(column_kind("reason"), ColumnKind::Text);
}

/// A column that flat() gains and column_kind() does not know would be written as text.
TEST(ColumnTest, NoColumnOfAnEmptyRecordIsOfAnotherKind) {
  const Json row = flat(Record{});
  for (const auto& [name, value] : row.as_object()) {
    const ColumnKind kind = column_kind(name);
    EXPECT_TRUE(!value.is_bool() || kind == ColumnKind::Boolean) << name;
    EXPECT_TRUE(!value.is_number() || kind == ColumnKind::Integer || kind == ColumnKind::Real)
        << name;
  }
}

}  // namespace
}  // namespace tunebench::record
