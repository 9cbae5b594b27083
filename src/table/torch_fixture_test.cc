// The rules that PyTorch has, against what PyTorch computed (tools/make_torch_fixture.py).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "table/update_rule.h"

namespace thalweg {
namespace {

RuleSpec parse_rule(std::istringstream& line) {
  static const std::map<std::string, RuleKind> kKinds = {
      {"sgd", RuleKind::kSgd},         {"momentum", RuleKind::kMomentum}, {"nesterov", RuleKind::kNesterov},
      {"adagrad", RuleKind::kAdagrad}, {"rmsprop", RuleKind::kRmsprop},   {"adam", RuleKind::kAdam},
      {"adamw", RuleKind::kAdamW}};
  static const std::map<std::string, float RuleSpec::*> kNumbers = {
      {"rate", &RuleSpec::rate},
      {"l2", &RuleSpec::l2},
      {"momentum", &RuleSpec::momentum},
      {"beta1", &RuleSpec::beta1},
      {"beta2", &RuleSpec::beta2},
      {"epsilon", &RuleSpec::epsilon},
      {"initial_accumulator", &RuleSpec::initial_accumulator}};
  RuleSpec rule;
  std::string word;
  line >> word;
  rule.kind = kKinds.at(word);
  for (float value = 0; line >> word >> value;) rule.*kNumbers.at(word) = value;
  return rule;
}

std::vector<float> parse_floats(std::istringstream& line) {
  std::vector<float> values;
  for (std::string word; line >> word;) values.push_back(std::stof(word));
  return values;
}

TEST(TorchFixture, TheRulesFollowPyTorch) {
  std::ifstream file(THALWEG_SOURCE_DIR "/src/table/testdata/torch_rules.txt");
  ASSERT_TRUE(file.is_open());
  std::unique_ptr<UpdateRule> rule;
  std::vector<float> stored, grads;
  std::size_t dim = 0, rules = 0, compared = 0;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string what;
    line >> what;
    if (what == "rule") {
      const RuleSpec spec = parse_rule(line);
      dim = 5;
      rule = std::make_unique<UpdateRule>(spec, dim, nullptr);
      ++rules;
      continue;
    }
    const std::vector<float> values = parse_floats(line);
    ASSERT_EQ(values.size(), dim);
    if (what == "start") {
      stored = values;
      stored.resize(dim + rule->state_floats());
      rule->fill_state({stored.data(), dim}, {stored.data() + dim, rule->state_floats()});
    } else if (what == "grad") {
      float* row = stored.data();
      rule->update_rows(&row, values.data(), 1);
    } else {
      ASSERT_EQ(what, "row");
      for (std::size_t i = 0; i < dim; ++i, ++compared) {
        EXPECT_NEAR(stored[i], values[i], 2e-6f * (1.0f + std::fabs(values[i]))) << "rule " << rules;
      }
    }
  }
  EXPECT_EQ(rules, 10u);
  EXPECT_EQ(compared, 10u * 8 * 5);
}

}  // namespace
}  // namespace thalweg
