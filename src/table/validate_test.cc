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

class StateOfSize final : public CustomRule {
 public:
  explicit StateOfSize(std::size_t floats) : floats_(floats) {}
  std::size_t state_floats(std::size_t) const override { return floats_; }
  void update(std::span<float>, std::span<float>, std::span<const float>) const override {}

 private:
  const std::size_t floats_;
};

TEST(CheckSpec, RefusesStateOfACustomRuleThatNoRowCouldHave) {
  TableSpec spec;
  spec.name = "t";
  spec.rule.kind = RuleKind::kCustom;
  spec.rule.custom = "large";
  const auto checked = [&spec](std::size_t floats) {
    const StateOfSize rule(floats);
    return check_spec(spec, {0, spec.ranges}, &rule);
  };
  EXPECT_TRUE(checked(0).ok());
  EXPECT_TRUE(checked(limits::kDimMax).ok());
  for (const std::size_t floats : {std::size_t{limits::kDimMax} + 1, std::size_t{1} << 60, ~std::size_t{0}}) {
    EXPECT_EQ(checked(floats).code(), Code::kUsage);
    EXPECT_NE(checked(floats).message().find("custom rule 'large' keeps"), std::string::npos);
  }
}

}  // namespace
}  // namespace thalweg
