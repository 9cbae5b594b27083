#include "model/predictor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "model/format/stored_model_for_test.h"

namespace thalweg {
namespace {

// Rows of stored keys and of keys that no model has.
Batch some_rows(const TestTable& weights, std::size_t rows, std::uint64_t seed) {
  Random random(seed);
  Batch batch;
  for (std::size_t r = 0; r < rows; ++r) {
    batch.labels.push_back(0);
    for (int i = 0; i < 5; ++i) {
      const bool known = !weights.keys.empty() && random.chance(0.7);
      batch.keys.push_back(known ? unplace(weights.keys[random.below(weights.keys.size())])
                                 : random.next() >> 1);
    }
    batch.row_begin.push_back(static_cast<std::uint32_t>(batch.keys.size()));
  }
  return batch;
}

TEST(Predictor, ScoresAsTheFormulaSaysAndUnseenKeysAddNothing) {
  TemporaryFolder folder;
  SystemDisk disk;
  for (const std::size_t stored : {0u, 1u, 2u, 1000u}) {
    const ModelSpec spec = fm_spec();
    const std::vector<TestTable> tables = test_tables(spec, stored, 8);
    ASSERT_TRUE(save_model(folder / "model", spec, tables).ok());
    const Result<Predictor> predictor = Predictor::load(*ModelReader::open(disk, folder / "model"));
    ASSERT_TRUE(predictor.ok()) << predictor.status().message();
    EXPECT_EQ(predictor->spec(), spec);
    std::map<Key, double> weights;
    for (std::size_t i = 0; i < tables[1].keys.size(); ++i) {
      weights[unplace(tables[1].keys[i])] = static_cast<double>(tables[1].rows[i * tables[1].width]);
    }
    std::map<Key, const float*> factors;
    for (std::size_t i = 0; i < tables[2].keys.size(); ++i) {
      factors[unplace(tables[2].keys[i])] = tables[2].rows.data() + i * tables[2].width;
    }
    Batch batch = some_rows(tables[1], 50, 1);
    const Batch copy = batch;
    Predictor::Scratch scratch(*predictor);
    std::vector<float> scores;
    ASSERT_TRUE(predictor->score(batch, scratch, scores).ok());
    ASSERT_EQ(scores.size(), 50u);
    const std::set<Key> distinct(copy.keys.begin(), copy.keys.end());
    EXPECT_EQ(scratch.keys(), distinct.size());
    EXPECT_EQ(scratch.known_keys(),
              static_cast<std::uint64_t>(std::count_if(distinct.begin(), distinct.end(),
                                                       [&](Key key) { return weights.count(key) > 0; })));
    for (std::size_t r = 0; r < copy.rows(); ++r) {
      double expected = static_cast<double>(tables[0].rows[0]);
      for (std::size_t i = copy.row_begin[r]; i < copy.row_begin[r + 1]; ++i) {
        if (weights.count(copy.keys[i]) > 0) expected += weights[copy.keys[i]];
        for (std::size_t j = i + 1; j < copy.row_begin[r + 1]; ++j) {
          const auto a = factors.find(copy.keys[i]), b = factors.find(copy.keys[j]);
          if (a == factors.end() || b == factors.end()) continue;
          for (int f = 0; f < 3; ++f)
            expected += static_cast<double>(a->second[f]) * static_cast<double>(b->second[f]);
        }
      }
      ASSERT_NEAR(static_cast<double>(scores[r]), expected, 1e-4);
    }
  }
}

TEST(Predictor, ThreadsScoreAtOnceWithTheirOwnScratch) {
  TemporaryFolder folder;
  SystemDisk disk;
  const ModelSpec spec = fm_spec();
  const std::vector<TestTable> tables = test_tables(spec, 500, 8);
  ASSERT_TRUE(save_model(folder / "model", spec, tables).ok());
  const Predictor predictor = *Predictor::load(*ModelReader::open(disk, folder / "model"));
  std::vector<std::vector<float>> scores(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& out : scores) {
    threads.emplace_back([&] {
      Predictor::Scratch scratch(predictor);
      for (int round = 0; round < 20; ++round) {
        Batch batch = some_rows(tables[1], 100, 3);
        EXPECT_TRUE(predictor.score(batch, scratch, out).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& out : scores) EXPECT_EQ(out, scores[0]);
}

TEST(Predictor, RefusesAModelWithoutItsTablesAndRowsItCannotTake) {
  TemporaryFolder folder;
  SystemDisk disk;
  std::vector<TestTable> tables = test_tables(fm_spec(), 5, 8);
  tables.pop_back();
  ASSERT_TRUE(save_model(folder / "model", fm_spec(), tables).ok());
  const Status status = Predictor::load(*ModelReader::open(disk, folder / "model")).status();
  EXPECT_EQ(status.code(), Code::kModel);
  EXPECT_NE(status.message().find("factors"), std::string::npos);
  ModelSpec spec = fm_spec();
  spec.name = "ffm", spec.fields = 2;
  ASSERT_TRUE(save_model(folder / "ffm", spec, test_tables(spec, 5, 8)).ok());
  const Predictor predictor = *Predictor::load(*ModelReader::open(disk, folder / "ffm"));
  Predictor::Scratch scratch(predictor);
  Batch batch = some_rows(tables[1], 2, 1);
  std::vector<float> scores;
  EXPECT_EQ(predictor.score(batch, scratch, scores).status().code(), Code::kData);
}

}  // namespace
}  // namespace thalweg
