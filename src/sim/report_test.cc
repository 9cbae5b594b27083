#include "sim/report.h"

#include <gtest/gtest.h>

namespace thalweg::sim {
namespace {

TEST(RunReport, AnotherCourseIsOneOfOtherEventsOrViolations) {
  RunReport first;
  first.trace_hash = 7, first.events = 20;
  EXPECT_EQ(other_course(first, first), "");
  RunReport second = first;
  second.trace_hash = 8;
  EXPECT_EQ(other_course(first, second).find("[same course]"), 0u) << other_course(first, second);
  second = first;
  second.events = 21;
  EXPECT_NE(other_course(first, second), "");
  second = first;
  second.outcome_hash = 9;
  EXPECT_NE(other_course(first, second).find("differ at the end"), std::string::npos);
  second = first;
  second.violation = "[sums] ";
  EXPECT_NE(other_course(first, second).find("[sums]"), std::string::npos);
}

}  // namespace
}  // namespace thalweg::sim
