#include "torch/deepfm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "base/random.h"
#include "model/model_kind.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kRank = 3;

Batch random_rows(bool values, bool repeats, std::uint32_t fields) {
  Random random(11);
  Batch batch;
  for (int r = 0; r < 20; ++r) {
    batch.labels.push_back(random.chance(0.4) ? 1.0f : -1.0f);
    batch.weights.push_back(static_cast<float>(0.2 + random.unit()));
    const std::size_t entries = r == 0 ? 0 : 1 + random.below(9);
    for (std::size_t i = 0; i < entries; ++i) {
      batch.keys.push_back(repeats ? random.below(4) : random.below(40) * 100 + i);
      if (fields > 0) batch.fields.push_back(static_cast<std::uint32_t>(random.below(fields)));
      if (values) batch.values.push_back(static_cast<float>(random.normal()));
    }
    batch.row_begin.push_back(static_cast<std::uint32_t>(batch.keys.size()));
  }
  return batch;
}

// Fields, hidden layers, whether entries have values and keys repeat, the loss.
using Case = std::tuple<std::uint32_t, std::vector<std::uint32_t>, bool, Loss>;

class DeepFmTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    spec_.name = "deepfm";
    spec_.rank = kRank;
    bool values = false;
    std::tie(spec_.fields, spec_.hidden, values, spec_.loss) = GetParam();
    model_ = make_deepfm(spec_);
    Batch raw = random_rows(values, values, spec_.fields);
    ASSERT_TRUE(model_->validate(raw).ok());
    KeyIndex index;
    batch_.assign(raw, index);
    scores_.resize(batch_.size());
    Random random(3);
    for (const TableSpec& table : model_->tables()) {
      const bool sparse = table.kind == TableSpec::Kind::kSparse;
      std::vector<float> all((sparse ? batch_.keys().size() : table.rows) * table.dim);
      for (float& value : all) value = static_cast<float>(random.normal()) * 0.5f;
      values_.push_back(all);
      grads_.emplace_back(all.size(), 77.0f);
    }
  }
  std::vector<std::span<const float>> rows() const { return {values_.begin(), values_.end()}; }
  double loss() { return model_->forward(batch_, rows(), scores_).loss; }

  ModelSpec spec_;
  std::unique_ptr<Model> model_;
  LocalBatch batch_;
  std::vector<std::vector<float>> values_, grads_;
  std::vector<float> scores_;
};

TEST_P(DeepFmTest, TheGradientIsThatOfTheLoss) {
  const std::vector<std::span<float>> grads(grads_.begin(), grads_.end());
  const LossSum learnt = model_->gradient(batch_, rows(), scores_, grads);
  EXPECT_NEAR(learnt.loss, loss(), 1e-5 * learnt.loss);
  for (std::size_t t = 0; t < values_.size(); ++t) {
    double square = 0;
    for (const float g : grads_[t]) square += static_cast<double>(g) * static_cast<double>(g);
    ASSERT_GT(square, 0) << "table " << t;
    const float step = 3e-3f / static_cast<float>(std::sqrt(square));
    const std::vector<float> before = values_[t];
    double losses[2];
    for (const int side : {0, 1}) {
      const float along = side == 0 ? -step : step;
      for (std::size_t i = 0; i < before.size(); ++i) values_[t][i] = before[i] + along * grads_[t][i];
      losses[side] = loss();
    }
    values_[t] = before;
    EXPECT_NEAR((losses[1] - losses[0]) / (2 * static_cast<double>(step)), square, 0.04 * square)
        << "table " << t;
  }
}

TEST_P(DeepFmTest, WithoutItsLayersItIsAFactorizationMachine) {
  for (std::size_t t = 3; t < values_.size(); ++t) std::fill(values_[t].begin(), values_[t].end(), 0.0f);
  const double deep = loss();
  const std::vector<float> scores = scores_;
  ModelSpec machine = spec_;
  machine.name = "fm", machine.fields = 0, machine.hidden = {};
  const auto fm = make_model(machine);
  ASSERT_TRUE(fm.ok()) << fm.status().message();
  const auto of_fm = rows();
  EXPECT_EQ((*fm)->forward(batch_, std::span(of_fm).first(3), scores_).loss, deep);
  EXPECT_EQ(scores, scores_);
}

// As a row's numbers are to the layers: of mean 0 and variance 1.
void normalise(std::vector<double>& numbers) {
  double mean = 0, square = 0;
  for (const double x : numbers) mean += x / static_cast<double>(numbers.size());
  for (const double x : numbers) square += (x - mean) * (x - mean) / static_cast<double>(numbers.size());
  for (double& x : numbers) x = (x - mean) / std::sqrt(square + 1e-5);
}

// The perceptron's score straight from its definition.
TEST_P(DeepFmTest, LayersTakeTheNormalisedSumsOfFactorsByField) {
  for (std::size_t t : {0u, 1u}) std::fill(values_[t].begin(), values_[t].end(), 0.0f);
  loss();
  const std::vector<float> whole = scores_;
  const auto layers = std::vector<std::vector<float>>(values_.begin() + 3, values_.end());
  for (std::size_t t = 3; t < values_.size(); ++t) std::fill(values_[t].begin(), values_[t].end(), 0.0f);
  loss();
  const Batch& rows = batch_.rows();
  for (std::size_t r = 0; r < batch_.size(); ++r) {
    std::vector<double> h(std::size_t{kRank} * std::max(spec_.fields, 1u));
    for (std::size_t e = rows.row_begin[r]; e < rows.row_begin[r + 1]; ++e) {
      for (std::size_t f = 0; f < kRank; ++f) {
        const double x = rows.values.empty() ? 1.0 : static_cast<double>(rows.values[e]);
        h[(spec_.fields > 0 ? rows.fields[e] : 0) * kRank + f] +=
            x * static_cast<double>(values_[2][batch_.local()[e] * kRank + f]);
      }
    }
    normalise(h);
    for (std::size_t l = 0; l < layers.size(); l += 2) {
      std::vector<double> out(layers[l + 1].begin(), layers[l + 1].end());
      for (std::size_t o = 0; o < out.size(); ++o) {
        for (std::size_t i = 0; i < h.size(); ++i)
          out[o] += static_cast<double>(layers[l][o * h.size() + i]) * h[i];
        if (l + 2 < layers.size()) out[o] = std::max(out[o], 0.0);
      }
      h = out;
    }
    EXPECT_NEAR(whole[r] - scores_[r], h[0], 1e-4 * (1 + std::abs(h[0]))) << "row " << r;
  }
}

TEST_P(DeepFmTest, TablesAreNamedAndShapedAsLayersOfPyTorchAre) {
  const std::vector<TableSpec> tables = model_->tables();
  ASSERT_EQ(tables.size(), 3 + 2 * (spec_.hidden.size() + 1));
  EXPECT_EQ(tables[2].name, "factors");
  EXPECT_EQ(tables[3].name, "mlp.1.weight");
  EXPECT_EQ(tables.back().name, "mlp." + std::to_string(2 * spec_.hidden.size() + 1) + ".bias");
  EXPECT_EQ(model_->tensor_shape(2), std::vector<std::uint64_t>());
  const std::uint64_t inputs = std::uint64_t{kRank} * std::max(spec_.fields, 1u);
  const std::uint64_t first = spec_.hidden.empty() ? 1 : spec_.hidden[0];
  EXPECT_EQ(model_->tensor_shape(3), (std::vector<std::uint64_t>{first, inputs}));
  EXPECT_EQ(model_->tensor_shape(4), std::vector<std::uint64_t>{first});
}

INSTANTIATE_TEST_SUITE_P(All, DeepFmTest,
                         testing::Values(Case{0, {5, 4}, false, Loss::kLogistic},
                                         Case{0, {}, true, Loss::kSquared},
                                         Case{6, {5}, true, Loss::kLogistic},
                                         Case{6, {4, 3, 2}, false, Loss::kSquared}));

// The layers see how factors lie to each other, not how small they are, so that they learn from the first
// step.
TEST_P(DeepFmTest, LayersDoNotDependOnTheSizeOfFactors) {
  for (std::size_t t : {0u, 1u}) std::fill(values_[t].begin(), values_[t].end(), 0.0f);
  const auto deep = [&](float scale) {
    auto scaled = values_;
    for (float& factor : scaled[2]) factor *= scale;
    std::vector<std::span<const float>> all(scaled.begin(), scaled.end());
    model_->forward(batch_, all, scores_);
    std::vector<float> scores = scores_;
    for (std::size_t t = 3; t < scaled.size(); ++t) std::fill(scaled[t].begin(), scaled[t].end(), 0.0f);
    model_->forward(batch_, all, scores_);
    for (std::size_t r = 0; r < scores.size(); ++r) scores[r] -= scores_[r];
    return scores;
  };
  const std::vector<float> large = deep(4), small = deep(1);
  for (std::size_t r = 0; r < large.size(); ++r)
    EXPECT_NEAR(large[r], small[r], 0.01 * (1 + std::abs(small[r]))) << "row " << r;
}

TEST(DeepFm, RefusesRowsWithoutTheFieldsThatItHas) {
  ModelSpec spec;
  spec.name = "deepfm";
  spec.fields = 4;
  const auto model = make_deepfm(spec);
  EXPECT_TRUE(model->validate(random_rows(false, false, 4)).ok());
  for (const std::uint32_t fields : {0u, 9u})
    EXPECT_EQ(model->validate(random_rows(false, false, fields)).code(), Code::kData) << fields;
}

}  // namespace
}  // namespace thalweg
