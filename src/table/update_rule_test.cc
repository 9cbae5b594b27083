#include "table/update_rule.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "base/random.h"
#include "table/rules_for_test.h"

namespace thalweg {
namespace {

using testing::NamedRule;
using testing::SerialElement;

constexpr std::size_t kRows = 37;
constexpr unsigned kSteps = 12;

float gradient(Random& random) { return static_cast<float>(4.0 * random.unit() - 2.0); }

// Stored rows after kSteps updates of kRows rows from fixed starts, one row after the other.
std::vector<float> run(const UpdateRule& rule, std::size_t dim, bool planes) {
  Random random(7);
  const std::size_t width = dim + rule.state_floats();
  std::vector<float> stored(kRows * width);
  std::vector<float*> rows;
  for (std::size_t r = 0; r < kRows; ++r) {
    rows.push_back(stored.data() + r * width);
    for (std::size_t c = 0; c < dim; ++c) rows[r][c] = gradient(random);
    rule.fill_state({rows[r], dim}, {rows[r] + dim, width - dim});
  }
  std::vector<std::vector<float>> split(4);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t i = 0; i < width; ++i) split[i / dim].push_back(rows[r][i]);
  }
  for (unsigned t = 0; t < kSteps; ++t) {
    std::vector<float> grads(kRows * dim);
    for (float& g : grads) g = gradient(random);
    if (planes) {
      rule.update_planes({split[0].data(), split[1].data(), split[2].data(), split[3].data()}, grads.data(),
                         kRows);
    } else {
      rule.update_rows(rows.data(), grads.data(), kRows);
    }
  }
  if (planes) {
    std::vector<std::size_t> next(4);
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t i = 0; i < width; ++i) rows[r][i] = split[i / dim][next[i / dim]++];
    }
  }
  return stored;
}

// The same by the serial formulas in precision F; rows only.
template <class F>
std::vector<F> run_serially(const RuleSpec& spec, std::size_t dim) {
  Random random(7);
  std::vector<SerialElement<F>> elements(kRows * dim);
  for (auto& e : elements) {
    e.w = static_cast<F>(gradient(random));
    if (spec.kind == RuleKind::kFtrl) {
      const F slope = static_cast<F>(spec.epsilon / spec.rate + spec.l2);
      e.a = -(e.w * slope + testing::serial_sign(e.w) * static_cast<F>(spec.l1));
    }
  }
  for (unsigned t = 1; t <= kSteps; ++t) {
    for (auto& e : elements) testing::serial_step<F>(spec, e, static_cast<F>(gradient(random)), t);
  }
  std::vector<F> rows;
  for (const auto& e : elements) rows.push_back(e.w);
  return rows;
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

class EachRule : public ::testing::TestWithParam<std::tuple<NamedRule, std::size_t>> {};

TEST_P(EachRule, AgreesWithTheSerialFormula) {
  const auto& [named, dim] = GetParam();
  const UpdateRule rule(named.spec, dim, nullptr);
  const std::size_t width = dim + rule.state_floats();
  const std::vector<float> stored = run(rule, dim, false);
  const std::vector<float> exact = run_serially<float>(named.spec, dim);
  const std::vector<double> close = run_serially<double>(named.spec, dim);
  const bool adam = named.spec.kind == RuleKind::kAdam || named.spec.kind == RuleKind::kAdamW;
  for (std::size_t i = 0; i < kRows * dim; ++i) {
    const float got = stored[i / dim * width + i % dim];
    ASSERT_NEAR(got, close[i], 2e-5 * (1.0 + std::fabs(close[i]))) << "element " << i;
    if (adam) {
      ASSERT_NEAR(got, exact[i], 1e-6f * (1.0f + std::fabs(exact[i]))) << "element " << i;
    } else {
      ASSERT_EQ(got, exact[i]) << "element " << i;
    }
  }
}

TEST_P(EachRule, GivesTheSameBitsOnEveryInstructionSetAndLayout) {
  const auto& [named, dim] = GetParam();
  const UpdateRule rule(named.spec, dim, nullptr);
  const std::vector<float> reference = run(rule, dim, false);
  std::set<std::size_t> chosen;
  const auto targets = hwy::SupportedAndGeneratedTargets();
  for (const auto target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    chosen.insert(hwy::GetChosenTarget().GetIndex());
    for (const bool planes : {false, true}) {
      const std::vector<float> got = run(rule, dim, planes);
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(same_bits(got[i], reference[i])) << hwy::TargetName(target) << " element " << i;
      }
    }
  }
  EXPECT_EQ(chosen.size(), targets.size());
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

INSTANTIATE_TEST_SUITE_P(All, EachRule,
                         ::testing::Combine(::testing::ValuesIn(testing::all_rules()),
                                            ::testing::Values<std::size_t>(1, 2, 3, 5, 7, 8, 9, 16, 19, 33)),
                         [](const auto& each) {
                           return std::get<0>(each.param).name + "_dim" +
                                  std::to_string(std::get<1>(each.param));
                         });

TEST(UpdateRule, EachKindIsComparedWithItsFormula) {
  std::set<RuleKind> compared;
  for (const testing::NamedRule& rule : testing::all_rules()) compared.insert(rule.spec.kind);
  EXPECT_EQ(compared.size(), static_cast<std::size_t>(RuleKind::kCustom));
}

TEST(UpdateRule, FtrlKeepsAnInitialValueUnderZeroGradients) {
  RuleSpec spec;
  spec.kind = RuleKind::kFtrl, spec.rate = 0.1f, spec.l1 = 0.5f, spec.l2 = 0.1f, spec.epsilon = 1.0f;
  const UpdateRule rule(spec, 2, nullptr);
  float stored[6] = {0.25f, -0.5f};
  rule.fill_state({stored, 2}, {stored + 2, 4});
  float* row = stored;
  const float zeros[2] = {};
  rule.update_rows(&row, zeros, 1);
  EXPECT_NEAR(stored[0], 0.25f, 1e-6f);
  EXPECT_NEAR(stored[1], -0.5f, 1e-6f);
}

TEST(UpdateRule, AdamFactorsBeyondThePreparedStepsFollowTheFormula) {
  RuleSpec spec;
  spec.kind = RuleKind::kAdam;
  for (const std::uint32_t t : {1u, 2u, 4096u, 4097u, 1u << 20}) {
    const AdamFactors factors = adam_factors(spec, t);
    const double two = 1.0 - std::pow(static_cast<double>(spec.beta2), t);
    EXPECT_FLOAT_EQ(factors.inverse_root, static_cast<float>(1.0 / std::sqrt(two)));
  }
}

TEST(UpdateRule, PreparedAdamFactorsHaveTheBitsOfThoseOfOneStep) {
  RuleSpec spec;
  spec.kind = RuleKind::kAdam, spec.rate = 0.3f;
  for (const auto& [beta1, beta2] :
       {std::pair(0.9f, 0.999f), std::pair(0.0f, 0.37f), std::pair(0.99999f, 0.0f)}) {
    spec.beta1 = beta1, spec.beta2 = beta2;
    const std::vector<AdamFactors> prepared = first_adam_factors(spec, 4099);
    ASSERT_EQ(prepared.size(), 4099u);
    for (std::uint32_t t = 1; t <= prepared.size(); ++t) {
      const AdamFactors one = adam_factors(spec, t);
      ASSERT_EQ(std::bit_cast<std::uint64_t>(prepared[t - 1]), std::bit_cast<std::uint64_t>(one)) << t;
    }
  }
}

TEST(UpdateRule, RefusesUndefinedNumbers) {
  const auto refused = [](RuleKind kind, float RuleSpec::*number, float value, const char* field) {
    RuleSpec spec;
    spec.kind = kind;
    spec.*number = value;
    const Status status = UpdateRule::check(spec, nullptr);
    EXPECT_EQ(status.code(), Code::kUsage);
    EXPECT_NE(status.message().find(field), std::string::npos) << status.message();
  };
  refused(RuleKind::kFtrl, &RuleSpec::rate, 0.0f, "rate");
  refused(RuleKind::kSgd, &RuleSpec::rate, NAN, "rate");
  refused(RuleKind::kAdam, &RuleSpec::beta1, 1.0f, "beta1");
  refused(RuleKind::kAdam, &RuleSpec::beta2, -0.1f, "beta2");
  refused(RuleKind::kSgd, &RuleSpec::l1, -1.0f, "l1");
  refused(RuleKind::kCustom, &RuleSpec::rate, 1.0f, "custom rule");
  EXPECT_TRUE(UpdateRule::check(RuleSpec{}, nullptr).ok());
}

}  // namespace
}  // namespace thalweg
