#include "table/validate.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/limits.h"

namespace thalweg {
namespace {

TEST(CheckSpec, RefusesWhatNoMachineCouldHold) {
  const auto code = [](const std::function<void(TableSpec&)>& change) {
    TableSpec spec;
    spec.kind = TableSpec::Kind::kDense;
    spec.name = "t";
    spec.rows = 8;
    change(spec);
    return make_table(spec, {0, spec.ranges}).status().code();
  };
  EXPECT_EQ(code([](TableSpec&) {}), Code::kOk);
  EXPECT_EQ(code([](TableSpec& s) { s.dim = limits::kDimMax + 1; }), Code::kUsage);
  EXPECT_EQ(code([](TableSpec& s) { s.rows = limits::kDenseRowsMax + 1; }), Code::kUsage);
  EXPECT_EQ(code([](TableSpec& s) { s.rows = ~std::uint64_t{0}, s.dim = 2; }), Code::kUsage);
  EXPECT_EQ(code([](TableSpec& s) { s.dim = 0; }), Code::kUsage);
  EXPECT_EQ(code([](TableSpec& s) { s.rows = 0; }), Code::kUsage);
}

}  // namespace
}  // namespace thalweg
