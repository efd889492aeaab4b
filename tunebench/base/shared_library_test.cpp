#include "tunebench/base/shared_library.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::StartsWith;

std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    return error.message();
  }
  return "";
}

TEST(SharedLibraryTest, FindsFunctions) {
  const SharedLibrary library("libm.so.6", "", "");
  double (*cosine)(double) = nullptr;
  library.load("cos", cosine);
  EXPECT_EQ(cosine(0.0), 1.0);
}

TEST(SharedLibraryTest, NamesWhatIsMissing) {
  EXPECT_THAT(failure_of([] { SharedLibrary("libnone.so.9", "a song needs libnone", "libnone9"); }),
              AllOf(StartsWith("a song needs libnone, which is not here (libnone.so.9: "),
                    EndsWith("install it, on Debian: apt-get install libnone9")));
  const SharedLibrary library("libm.so.6", "", "");
  void (*function)() = nullptr;
  EXPECT_EQ(failure_of([&] { library.load("no_such_function", function); }),
            "libm.so.6 has no no_such_function");
}

}  // namespace
}  // namespace tunebench
