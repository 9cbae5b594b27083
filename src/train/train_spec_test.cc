#include "train/train_spec.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(TrainSpec, SurvivesItsJourneyAsText) {
  TrainSpec spec;
  spec.model.name = "ffm";
  spec.model.loss = Loss::kSquared;
  spec.model.fields = 39;
  spec.model.fields_by_place = true;
  spec.model.script = "a net.pt";
  spec.model.rank = 4;
  spec.model.seed = ~std::uint64_t{0};
  spec.model.weights.kind = RuleKind::kAdamW;
  spec.model.weights.rate = 0.1f;
  spec.model.bias_rate = 0.7f;
  spec.model.factors.l2 = 1e-7f;
  spec.train.paths = {"a b.svm", "\"quoted\".gz"};
  spec.train.format = "criteo";
  spec.train.max_bad_rows = 7;
  spec.train.part = Part::kTrain;
  spec.train.part_modulus = 10;
  spec.train.columns = "user:cat,label";
  spec.train.interactions = "user*item";
  spec.train.value_scales = "3/312";
  spec.expire_after = 700;
  spec.train.counts = true;
  spec.valid = spec.train;
  spec.valid.part = Part::kHeldOut;
  spec.epochs = 3;
  spec.batch_rows = 1000;
  spec.shards = 5;
  spec.loads = true;
  spec.loads_state = true;
  spec.begins_with = "the model of digest 12";
  spec.script_hash = "ab";
  spec.fields_from = "field 38 at a b.svm:7";
  const auto back = train_spec_from_text(to_text(spec));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->model, spec.model);
  EXPECT_EQ(back->train.paths, spec.train.paths);
  EXPECT_EQ(back->train.columns, spec.train.columns);
  EXPECT_EQ(back->train.interactions, "user*item");
  EXPECT_EQ(back->train.value_scales, "3/312");
  EXPECT_EQ(back->expire_after, 700u);
  EXPECT_TRUE(back->train.counts);
  EXPECT_EQ(back->train.max_bad_rows, 7u);
  EXPECT_EQ(back->valid.part, Part::kHeldOut);
  EXPECT_EQ(back->fields_from, spec.fields_from);
  EXPECT_EQ(back->script_hash, "ab");
  EXPECT_EQ(to_text(*back), to_text(spec));
}

TEST(TrainSpec, RefusesTextThatIsNoSpec) {
  for (const char* text : {"", "{}", "[1]", "{\"model\":{}}"}) {
    EXPECT_FALSE(train_spec_from_text(text).ok()) << text;
  }
}

}  // namespace
}  // namespace thalweg
