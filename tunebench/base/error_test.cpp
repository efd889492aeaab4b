#include "tunebench/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench {
namespace {

TEST(ErrorTest, CarriesCodeMessageAndPlace) {
  const int line = __LINE__ + 1;
  const Error error(ErrorCode::NotFound, "no model 'x'");
  EXPECT_EQ(error.code(), ErrorCode::NotFound);
  EXPECT_STREQ(error.what(), "no model 'x'");
  EXPECT_THAT(error.where().file, testing::EndsWith("error_test.cpp"));
  EXPECT_EQ(error.where().line, line);
}

TEST(ErrorTest, ContextGoesInFrontOfTheMessage) {
  try {
    with_context("loading model.safetensors",
                 [] { throw Error(ErrorCode::Corrupt, "file is cut off"); });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "loading model.safetensors: file is cut off");
    EXPECT_EQ(error.code(), ErrorCode::Corrupt);
  }
}

TEST(ErrorTest, ContextReturnsWhatItsBodyReturns) {
  EXPECT_EQ(with_context("adding", [] { return 1 + 2; }), 3);
}

TEST(ErrorTest, AFailedCheckIsAnInternalErrorThatNamesTheCondition) {
  const int found = 1;
  EXPECT_NO_THROW(TB_CHECK(found == 1));
  try {
    TB_CHECK(found == 2);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
    EXPECT_THAT(
        error.message(),
        testing::MatchesRegex("internal check failed: found == 2 \\(.*error_test.cpp:.*\\)"));
  }
}

}  // namespace
}  // namespace tunebench
