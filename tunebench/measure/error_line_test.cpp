#include "tunebench/measure/error_line.h"

#include <gtest/gtest.h>

namespace tunebench::measure {
namespace {

TEST(ErrorLine, IsTheLastThatNamesAnError) {
  EXPECT_EQ(error_line("Traceback (most recent call last):\n  File \"a.py\", line 1\n"
                       "KeyError: 'x'\n\nDuring handling of the above exception, another one:\n"
                       "  raise ValueError\nValueError: bad value\nsome last words\n"),
            "ValueError: bad value");
  EXPECT_EQ(error_line("torch.cuda.OutOfMemoryError: no room\n"),
            "torch.cuda.OutOfMemoryError: no room");
  EXPECT_EQ(error_line("MemoryError\n"), "MemoryError");
  EXPECT_EQ(error_line("huggingface_hub.errors.HFValidationError: Repo id must be\n"),
            "huggingface_hub.errors.HFValidationError: Repo id must be");
}

TEST(ErrorLine, IsNothingWhereNoLineBeginsWithOne) {
  EXPECT_EQ(error_line(""), "");
  EXPECT_EQ(error_line("WARNING: ValueError: is only mentioned\nErrors: 3\nno Error here\n"), "");
  EXPECT_EQ(error_line("raise SomethingErrorish: x\n"), "");
}

TEST(ErrorLine, IsNotWhatALauncherSaysAboutItsChild) {
  EXPECT_EQ(error_line("RuntimeError: the cause\nTraceback (most recent call last):\n"
                       "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"),
            "RuntimeError: the cause");
  EXPECT_EQ(error_line("ValueError: the cause\nsubprocess.CalledProcessError: Command '['python']' "
                       "returned non-zero exit status 1.\n"),
            "ValueError: the cause");
}

TEST(ErrorLine, IsThatOfTheRankThatFailedFirst) {
  const char* log =
      "[rank1]: Traceback (most recent call last):\n"
      "[rank1]: ValueError: the cause\n"
      "[rank0]: torch.distributed.DistBackendError: connection closed by peer\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
      "Root Cause (first observed failure):\n"
      "[0]:\n"
      "  time      : 2026-01-01_00:00:00\n"
      "  rank      : 1 (local_rank: 1)\n"
      "  exitcode  : 1 (pid: 4711)\n";
  EXPECT_EQ(error_line(log), "[rank1]: ValueError: the cause");
}

}  // namespace
}  // namespace tunebench::measure
