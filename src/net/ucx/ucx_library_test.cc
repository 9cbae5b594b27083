#include "net/ucx/ucx_library.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

void expect_advice(const std::string& file, const std::string& why) {
  const Result<UcxLibrary> library = UcxLibrary::load(file);
  ASSERT_FALSE(library);
  EXPECT_EQ(library.status().code(), Code::kUsage);
  for (const std::string& part : {file, why, std::string("install the Debian package libucx0")}) {
    EXPECT_NE(library.status().message().find(part), std::string::npos) << library.status().message();
  }
}

TEST(UcxLibrary, OneThatIsAbsentOrAnotherIsAnError) {
  expect_advice("libucp-that-is-not-there.so.0", "cannot open shared object file");
  expect_advice("libm.so.6", "it has no function ucp_");
}

}  // namespace
}  // namespace thalweg
