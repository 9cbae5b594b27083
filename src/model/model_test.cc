#include "model/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "base/cases_for_test.h"
#include "base/random.h"

namespace thalweg {
namespace {

struct Shape {
  bool values;
  bool weights;
  bool repeats;
};

constexpr std::uint32_t kFields = 5;

Batch random_batch(const Shape& shape, Random& random) {
  Batch batch;
  for (int r = 0; r < 24; ++r) {
    batch.labels.push_back(random.chance(0.4) ? 1.0f : -1.0f);
    if (shape.weights) batch.weights.push_back(static_cast<float>(0.2 + random.unit()));
    const std::size_t entries = r == 0 ? 0 : 1 + random.below(9);
    for (std::size_t i = 0; i < entries; ++i) {
      batch.keys.push_back(shape.repeats ? random.below(4) : random.below(40) * 100 + i);
      batch.fields.push_back(static_cast<std::uint32_t>(random.below(kFields)));
      if (shape.values) batch.values.push_back(static_cast<float>(random.normal()));
    }
    batch.row_begin.push_back(static_cast<std::uint32_t>(batch.keys.size()));
  }
  return batch;
}

using Tables = std::vector<std::vector<double>>;

// Score of row r straight from the definitions, in double, pair by pair.
double naive_score(const ModelSpec& spec, const LocalBatch& batch, std::size_t r, const Tables& tables) {
  const Batch& rows = batch.rows();
  const auto x = [&](std::size_t e) {
    return rows.values.empty() ? 1.0 : static_cast<double>(rows.values[e]);
  };
  double score = tables[0][0];
  for (std::size_t e = rows.row_begin[r]; e < rows.row_begin[r + 1]; ++e)
    score += tables[1][batch.local()[e]] * x(e);
  if (spec.name == "lr") return score;
  const std::size_t parts = spec.name == "ffm" ? spec.fields : 1;
  for (std::size_t i = rows.row_begin[r]; i < rows.row_begin[r + 1]; ++i) {
    for (std::size_t j = i + 1; j < rows.row_begin[r + 1]; ++j) {
      for (std::size_t f = 0; f < spec.rank; ++f) {
        const std::size_t a = (batch.local()[i] * parts + (parts > 1 ? rows.fields[j] : 0)) * spec.rank + f;
        const std::size_t b = (batch.local()[j] * parts + (parts > 1 ? rows.fields[i] : 0)) * spec.rank + f;
        score += tables[2][a] * tables[2][b] * x(i) * x(j);
      }
    }
  }
  return score;
}

double naive_loss(const ModelSpec& spec, const LocalBatch& batch, const Tables& tables) {
  double sum = 0;
  for (std::size_t r = 0; r < batch.size(); ++r) {
    const double score = naive_score(spec, batch, r, tables);
    const double label = static_cast<double>(batch.rows().labels[r]);
    const double weight = batch.rows().weights.empty() ? 1.0 : static_cast<double>(batch.rows().weights[r]);
    const double loss = spec.loss == Loss::kSquared ? 0.5 * (score - label) * (score - label)
                                                    : std::log1p(std::exp(label > 0 ? -score : score));
    sum += weight * loss;
  }
  return sum;
}

struct Parameters {
  std::vector<std::vector<float>> rows;
  std::vector<std::vector<float>> grads;
  std::vector<std::span<const float>> row_spans() const { return {rows.begin(), rows.end()}; }
  std::vector<std::span<float>> grad_spans() { return {grads.begin(), grads.end()}; }
};

Parameters random_parameters(const Model& model, const LocalBatch& batch, Random& random) {
  Parameters out;
  for (const TableSpec& table : model.tables()) {
    const bool dense = table.kind == TableSpec::Kind::kDense;
    std::vector<float> rows((dense ? table.rows : batch.keys().size()) * table.dim);
    for (float& value : rows) value = static_cast<float>(0.3 * random.normal());
    out.grads.emplace_back(rows.size(), 99.0f);
    out.rows.push_back(std::move(rows));
  }
  return out;
}

Tables to_double(const Parameters& parameters) {
  Tables out;
  for (const std::vector<float>& rows : parameters.rows) out.emplace_back(rows.begin(), rows.end());
  return out;
}

void check_against_naive(const ModelSpec& spec, const Shape& shape, Random& random) {
  Result<std::unique_ptr<Model>> made = make_model(spec);
  ASSERT_TRUE(made.ok());
  Model& model = **made;
  Batch batch = random_batch(shape, random);
  ASSERT_TRUE(model.validate(batch).ok());
  LocalBatch local;
  KeyIndex index;
  local.assign(batch, index);
  Parameters parameters = random_parameters(model, local, random);
  Tables tables = to_double(parameters);
  std::vector<float> scores(local.size()), forward_scores(local.size());
  const LossSum sum = model.gradient(local, parameters.row_spans(), scores, parameters.grad_spans());
  const LossSum forward = model.forward(local, parameters.row_spans(), forward_scores);
  EXPECT_EQ(scores, forward_scores);
  EXPECT_EQ(sum.loss, forward.loss);
  for (std::size_t r = 0; r < local.size(); ++r) {
    ASSERT_NEAR(static_cast<double>(scores[r]), naive_score(spec, local, r, tables), 1e-4) << "row " << r;
  }
  EXPECT_NEAR(sum.loss, naive_loss(spec, local, tables), 1e-4 * sum.loss);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const std::size_t stride = 1 + tables[t].size() / 60;
    for (std::size_t i = random.below(stride); i < tables[t].size(); i += stride) {
      const double kept = tables[t][i], h = 1e-5;
      tables[t][i] = kept + h;
      const double up = naive_loss(spec, local, tables);
      tables[t][i] = kept - h;
      const double down = naive_loss(spec, local, tables);
      tables[t][i] = kept;
      const double expected = (up - down) / (2 * h);
      ASSERT_NEAR(static_cast<double>(parameters.grads[t][i]), expected, 2e-4 * (1 + std::fabs(expected)))
          << spec.name << " rank " << spec.rank << " table " << t << " float " << i;
    }
  }
}

std::vector<ModelSpec> all_specs() {
  std::vector<ModelSpec> specs;
  for (const Loss loss : {Loss::kLogistic, Loss::kSquared}) {
    ModelSpec spec;
    spec.loss = loss;
    specs.push_back(spec);
    for (const std::uint32_t rank : {1u, 4u, 7u, 8u, 16u, 32u}) {
      spec.rank = rank;
      spec.name = "fm";
      spec.fields = 0;
      specs.push_back(spec);
      if (rank > 8) continue;
      spec.name = "ffm";
      spec.fields = kFields;
      specs.push_back(spec);
    }
  }
  return specs;
}

TEST(Model, ScoresAndGradientsAgreeWithDefinitionsAndFiniteDifferences) {
  Random random(11);
  for (const ModelSpec& spec : all_specs()) {
    for (std::uint64_t bits = 0; bits < 8; bits += kEveryForTest) {
      const Shape shape{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
      ASSERT_NO_FATAL_FAILURE(check_against_naive(spec, shape, random));
    }
  }
}

TEST(Model, ValuesOfOneGiveTheBitsOfNoValues) {
  Random random(12);
  for (const ModelSpec& spec : all_specs()) {
    Batch plain = random_batch({false, false, true}, random);
    Batch valued = plain;
    valued.values.assign(valued.keys.size(), 1.0f);
    LocalBatch a, b;
    KeyIndex index;
    a.assign(plain, index);
    b.assign(valued, index);
    std::unique_ptr<Model> model = *make_model(spec);
    Parameters parameters = random_parameters(*model, a, random);
    std::vector<float> scores_a(a.size()), scores_b(b.size());
    model->gradient(a, parameters.row_spans(), scores_a, parameters.grad_spans());
    const std::vector<std::vector<float>> grads = parameters.grads;
    model->gradient(b, parameters.row_spans(), scores_b, parameters.grad_spans());
    EXPECT_EQ(scores_a, scores_b);
    EXPECT_EQ(grads, parameters.grads);
  }
}

TEST(Model, DeclaresItsTables) {
  ModelSpec spec;
  spec.name = "ffm", spec.rank = 4, spec.fields = 3, spec.init_scale = 0.5f, spec.seed = 9;
  spec.weights.kind = RuleKind::kFtrl;
  spec.weights.l1 = 2, spec.weights.l2 = 3;
  spec.factors.kind = RuleKind::kAdagrad;
  const std::vector<TableSpec> tables = (*make_model(spec))->tables();
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[0].rule.l1 + tables[0].rule.l2, 0.0f);
  EXPECT_EQ(tables[1].rule, spec.weights);
  spec.bias_rate = 7.0f;
  const auto fast = (*make_model(spec))->tables();
  EXPECT_EQ(fast[0].rule.rate, 7.0f);
  EXPECT_EQ(fast[1].rule.rate, spec.weights.rate);
  EXPECT_EQ(tables[0].name, "bias");
  EXPECT_EQ(tables[0].kind, TableSpec::Kind::kDense);
  EXPECT_EQ(tables[0].rows, 1u);
  EXPECT_EQ(tables[1].name, "weights");
  EXPECT_EQ(tables[1].rule.kind, RuleKind::kFtrl);
  EXPECT_EQ(tables[2].dim, 12u);
  EXPECT_EQ(tables[2].rule.kind, RuleKind::kAdagrad);
  EXPECT_EQ(tables[2].init, (InitSpec{InitSpec::Kind::kNormal, 0.5f, 9}));
}

TEST(Model, RefusesWhatItCannotBe) {
  const auto code_of = [](const char* name, std::uint32_t rank, std::uint32_t fields) {
    ModelSpec spec;
    spec.name = name, spec.rank = rank, spec.fields = fields;
    return make_model(spec).status().code();
  };
  EXPECT_EQ(code_of("svm", 8, 0), Code::kUsage);
  EXPECT_EQ(code_of("fm", 0, 0), Code::kUsage);
  EXPECT_EQ(code_of("fm", 1025, 0), Code::kUsage);
  EXPECT_EQ(code_of("ffm", 4, 0), Code::kUsage);
  EXPECT_EQ(code_of("ffm", 1000, 1000), Code::kUsage);
  EXPECT_EQ(code_of("ffm", 4, 39), Code::kOk);
}

TEST(Model, FieldAwareRefusesMissingAndLargeFields) {
  ModelSpec spec;
  spec.name = "ffm", spec.fields = 2;
  std::unique_ptr<Model> model = *make_model(spec);
  Batch batch;
  batch.labels = {1, 0};
  batch.row_begin = {0, 1, 3};
  batch.keys = {1, 2, 3};
  EXPECT_EQ(model->validate(batch).code(), Code::kData);
  batch.fields = {0, 1, 2};
  const Status status = model->validate(batch);
  EXPECT_EQ(status.code(), Code::kData);
  EXPECT_NE(status.message().find("row 1, entry 1: field 2"), std::string::npos) << status.message();
  batch.fields[2] = 1;
  EXPECT_TRUE(model->validate(batch).ok());
}

}  // namespace
}  // namespace thalweg
