#include "data/scale/value_scales.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/temporary_folder_for_test.h"
#include "data/data_set.h"

namespace thalweg {
namespace {

Batch rows_of(const std::vector<std::pair<Key, float>>& entries, std::size_t times) {
  Batch batch;
  for (std::size_t row = 0; row < times; ++row) {
    for (const auto& [key, value] : entries) {
      batch.keys.push_back(key);
      batch.values.push_back(value);
    }
    batch.labels.push_back(0);
    batch.row_begin.push_back(static_cast<std::uint32_t>(batch.keys.size()));
  }
  return batch;
}

// A row for each.
Batch rows_of_one(Key key, const std::vector<float>& values) {
  Batch batch;
  for (const float value : values) {
    batch.keys.push_back(key), batch.values.push_back(value), batch.labels.push_back(0);
    batch.row_begin.push_back(static_cast<std::uint32_t>(batch.keys.size()));
  }
  return batch;
}

TEST(ValueScales, AreOfFeaturesFarFromOneThatMostRowsShow) {
  const Batch rows = rows_of({{1, 1.0f}, {2, -312.4f}, {3, 9.0f}, {4, 0.0002f}, {5, 0.0f}}, 10);
  EXPECT_EQ(ValueScales::choose(rows).text(), "2/312,4/0.0002");
  EXPECT_TRUE(ValueScales::choose(rows_of({{2, 312.0f}}, 9)).empty()) << "too few rows to say";
}

TEST(ValueScales, AreFromTheMeanWhereAllRowsHaveAFeatureFarFromZero) {
  std::vector<float> values;
  for (int i = 0; i < 20; ++i) values.push_back(i % 2 == 0 ? -6.0f : -4.0f);
  EXPECT_EQ(ValueScales::choose(rows_of_one(7, values)).text(), "7--5/1");
  values[3] = 0;
  EXPECT_TRUE(ValueScales::choose(rows_of_one(7, values)).empty()) << "one row has none";
  for (float& value : values) value = -5;
  EXPECT_TRUE(ValueScales::choose(rows_of_one(7, values)).empty()) << "they do not differ";
  for (int i = 0; i < 20; ++i) values[static_cast<std::size_t>(i)] = i % 2 == 0 ? -2.0f : 4.0f;
  EXPECT_TRUE(ValueScales::choose(rows_of_one(7, values)).empty()) << "they are on both sides of 0";
}

TEST(ValueScales, OfOnesThereAreNone) {
  Batch ones = rows_of({{1, 1.0f}}, 20);
  ones.values.clear();
  EXPECT_TRUE(ValueScales::choose(ones).empty());
}

TEST(ValueScales, DivideAndCutWhatIsTenTimesLarger) {
  const auto scales = ValueScales::parse("2/300,4/0.5,9--10/2");
  ASSERT_TRUE(scales) << scales.status().message();
  EXPECT_EQ(scales->scaled(2, 150.0f), 0.5f);
  EXPECT_EQ(scales->scaled(2, -1e9f), -10.0f);
  EXPECT_EQ(scales->scaled(4, 1.0f), 2.0f);
  EXPECT_EQ(scales->scaled(3, 1e9f), 1e9f);
  EXPECT_EQ(scales->scaled(9, -14.0f), -2.0f);
  EXPECT_EQ(scales->scaled(9, 0.0f), 5.0f);
  EXPECT_EQ(scales->text(), "2/300,4/0.5,9--10/2");
}

TEST(ValueScales, WhatIsNoneIsRefusedByName) {
  for (const char* text : {"2", "2/", "/3", "2/0", "2/-1", "2/x", "2/1/1", "2/3,,4/5", "x/2", "2/inf", "2-3",
                           "2-/3", "2-x/3", "2-inf/3"}) {
    const auto scales = ValueScales::parse(text);
    ASSERT_FALSE(scales) << text;
    EXPECT_NE(scales.status().message().find("KEY/SCALE"), std::string::npos) << scales.status().message();
  }
}

class ScaledRows : public ::testing::Test {
 protected:
  static ReadOptions scaled(const std::string& path, bool choose = true, const std::string& scales = {},
                            const std::string& interactions = {}) {
    ReadOptions options;
    options.paths = {path};
    options.choose_value_scales = choose;
    options.value_scales = scales;
    options.interactions = interactions;
    return options;
  }
  Batch all_of(ReadOptions options) {
    auto data = DataSet::open(std::move(options));
    EXPECT_TRUE(data) << data.status().message();
    scales_ = (*data)->value_scales(), names_ = (*data)->scaled_names();
    auto reader = (*data)->reader(ShardId{0}, 1);
    EXPECT_TRUE(reader) << reader.status().message();
    Batch batch;
    EXPECT_TRUE((*reader)->next(1000, batch));
    return batch;
  }
  const TemporaryFolder folder_;
  std::string scales_;
  std::vector<std::string> names_;
};

TEST_F(ScaledRows, AreTheSameInEachFormat) {
  std::string svm, ffm, vw, json;
  for (int row = 0; row < 20; ++row) {
    svm += "1 7:400 8:1\n", ffm += "1 0:7:400 1:8:1\n";
    vw += "1 | price:400 ad\n", json += "{\"label\":1,\"price\":400,\"ad\":\"x\"}\n";
  }
  for (const std::string& path : {folder_.write("a.svm", svm), folder_.write("a.ffm", ffm),
                                  folder_.write("a.vw", vw), folder_.write("a.jsonl", json)}) {
    const Batch batch = all_of(scaled(path));
    EXPECT_EQ(batch.values, std::vector<float>(40, 1.0f)) << path;
    EXPECT_NE(scales_.find("/400"), std::string::npos) << path << scales_;
    const bool of_indices = path.ends_with("svm") || path.ends_with("ffm");
    EXPECT_EQ(names_, std::vector<std::string>{of_indices ? "7" : "price"}) << path;
    EXPECT_EQ(all_of(scaled(path, false)).values[0], 400.0f) << "unless it is asked for";
  }
}

// Of a feature that is learnt from its mean, whichever way the row is written.
TEST_F(ScaledRows, AZeroIsNotTheMean) {
  const auto file_of = [&](const std::string& ending, const std::vector<int>& prices) {
    std::string text = ending == "csv" ? "label,price\n" : "";
    for (const int price : prices) {
      text += ending == "vw"      ? fmt::format("1 | price:{}\n", price)
              : ending == "jsonl" ? fmt::format("{{\"label\":1,\"price\":{}}}\n", price)
              : ending == "csv"   ? fmt::format("1,{}\n", price)
                                  : fmt::format("1 7:{}\n", price);
    }
    return folder_.write(fmt::format("{}.{}", prices.size(), ending), text);
  };
  std::vector<int> prices;
  for (int row = 0; row < 20; ++row) prices.push_back(380 + 2 * row);
  const std::vector<int> none = {0};
  for (const std::string ending : {"svm", "vw", "jsonl"}) {
    (void)all_of(scaled(file_of(ending, prices)));
    const std::string scales = scales_;
    EXPECT_NE(scales.find("-399/"), std::string::npos) << scales;
    const Batch zero = all_of(scaled(file_of(ending, none), false, scales));
    EXPECT_EQ(zero.values, std::vector<float>{-kLargestScaled}) << ending;
    if (ending != "jsonl") continue;
    EXPECT_EQ(all_of(scaled(file_of("csv", none), false, scales)).values, zero.values);
  }
}

TEST_F(ScaledRows, AreScaledBeforePairsAreMade) {
  std::string ffm;
  for (int row = 0; row < 20; ++row) ffm += "1 0:7:400 1:8:3\n";
  const Batch batch = all_of(scaled(folder_.write("a.ffm", ffm), true, {}, "0*1"));
  EXPECT_EQ(batch.values[0], 1.0f);
  EXPECT_EQ(batch.values[2], 3.0f) << "the product of 1 and 3";
}

// A batch that has no value but 1 is of a scaled feature as well.
TEST_F(ScaledRows, ScaleOnesToo) {
  const std::string path = folder_.write("ones.svm", "1 7:1 8:1\n0 7:1\n");
  EXPECT_EQ(all_of(scaled(path, false, "7/4")).values, (std::vector<float>{0.25f, 1, 0.25f}));
}

TEST_F(ScaledRows, BadScalesAreRefused) {
  const auto data = DataSet::open(scaled(folder_.write("a.svm", "1 7:1\n"), false, "7"));
  EXPECT_EQ(data.status().code(), Code::kUsage);
}

}  // namespace
}  // namespace thalweg
