#include "thalweg/store.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/completion.h"

namespace thalweg {
namespace {

// Else rows that are not there would be read.
TEST(Pending, HasNoAnswerBeforeItIsDone) {
  const auto completion = std::make_shared<Completion>();
  Pending request = Completion::pending(completion);
  const Answer early = request.take();
  EXPECT_EQ(early.status.code(), Code::kUsage);
  EXPECT_NE(early.status.message().find("await it"), std::string::npos);
  completion->answer.rows = Rows(std::vector<float>(3, 1.0f));
  completion->done = true;
  const Answer answer = request.take();
  EXPECT_TRUE(answer.status.ok());
  EXPECT_EQ(answer.rows.size(), 3u);
}

}  // namespace
}  // namespace thalweg
