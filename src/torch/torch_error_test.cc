#include "torch/torch_error.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(TorchError, IsWhatAModuleSaidWithoutItsStack) {
  const std::string head =
      "The following operation failed in the TorchScript interpreter.\n"
      "Traceback of TorchScript, serialized code (most recent call last):\n"
      "  File \"code/__torch__.py\", line 7, in forward\n"
      "else:\n"
      "    ~~~~~~~~ <--- HERE\n"
      "\nTraceback of TorchScript, original code (most recent call last):\n"
      "  File \"net.py\", line 3, in forward\n"
      "    y = x\n"
      "        ~ <--- HERE\n"
      "RuntimeError: ";
  EXPECT_EQ(torch_error_line(head + "mat1 and mat2 shapes\nsecond line\n"),
            "RuntimeError: mat1 and mat2 shapes");
  EXPECT_EQ(torch_error_line(head + "\n  below it\n"), "RuntimeError: below it");
  EXPECT_EQ(torch_error_line(head + "\n"), "RuntimeError");
  EXPECT_EQ(torch_error_line("no such file\nException raised from open at a.cpp:3\nframe #0"),
            "no such file");
  EXPECT_EQ(torch_error_line(std::string_view()), "");
}

TEST(TorchError, LeavesOutTheStackOfTheLibrary) {
  try {
    TORCH_CHECK(false, "two is not three");
  } catch (const std::exception& error) {
    EXPECT_EQ(torch_error_line(error), "two is not three");
  }
}

}  // namespace
}  // namespace thalweg
