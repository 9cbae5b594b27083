// Held-out rows are scored as the saved model will score them.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/format/model_dir.h"
#include "train/trainer/trainer_for_test.h"

namespace thalweg {
namespace {

class UntaughtRows : public TrainerTest {
 protected:
  // Clicks by 20 ads, beside one of 3,000 users each.
  std::string clicks(const char* name, std::uint32_t rows, std::vector<int>& labels) {
    std::string text;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::uint64_t ad = random_.below(20);
      labels.push_back(random_.chance(0.1 + 0.04 * static_cast<double>(ad)) ? 1 : 0);
      text += fmt::format("{} {}:1 {}:1\n", labels.back(), ad, 100 + random_.below(3000));
    }
    return folder_.write(name, text);
  }
  Random random_{17};
};

TEST_F(UntaughtRows, CountAsTheSavedModelHasThem) {
  std::vector<int> labels;
  options_.files = {clicks("train.svm", 2000, labels)};
  labels.clear();
  options_.valid = clicks("valid.svm", 1000, labels);
  options_.valid_part = 0;
  options_.epochs = 1;
  options_.model = "fm";
  options_.init_scale = 0.4f;
  options_.keep_bad = true;
  for (const std::uint32_t workers : {1, 3}) {
    options_.workers = workers;
    const TrainResult result = run(options_);
    ASSERT_TRUE(result.status.ok()) << result.status.message();
    double loss = 0;
    std::size_t row = 0;
    const auto add = [&](float p) { loss -= std::log(labels[row++] == 1 ? p : 1 - p); };
    ASSERT_TRUE(predict_rows(options_.out, {options_.valid}, add).ok());
    EXPECT_NEAR(*result.valid_loss, loss / static_cast<double>(labels.size()), 1e-5);
  }
}

}  // namespace
}  // namespace thalweg
