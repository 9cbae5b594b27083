// Trainings of a linear model on a few thousand clicks.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "base/random.h"
#include "base/temporary_folder_for_test.h"
#include "thalweg/trainer.h"

namespace thalweg {

inline constexpr std::uint32_t kRows = 4000;

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() {
    Random random(3);
    std::string svm, csv = "ad,hour,click\n";
    for (std::uint32_t row = 0; row < kRows; ++row) {
      const auto ad = static_cast<unsigned>(random.unit() * 20),
                 hour = static_cast<unsigned>(random.unit() * 24);
      const bool click = random.chance(0.1 + 0.04 * ad);
      svm += (click ? "1 " : "0 ") + std::to_string(ad) + ":1 " + std::to_string(100 + hour) + ":1\n";
      csv += "ad" + std::to_string(ad) + ",h" + std::to_string(hour) + (click ? ",1\n" : ",0\n");
      clicks_ += click;
    }
    options_.files = {folder_.write("clicks.svm", svm)};
    csv_ = folder_.write("clicks.csv", csv);
    options_.valid_part = 10;
    options_.epochs = 2;
    options_.out = folder_ / "model";
    options_.on_message = [this](TrainMessage, const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_ += line + "\n";
    };
  }
  static TrainResult run(const TrainerOptions& options) {
    auto trainer = Trainer::open(options);
    EXPECT_TRUE(trainer) << trainer.status().message();
    return trainer->run();
  }
  static Status refused(const TrainerOptions& options) {
    const auto trainer = Trainer::open(options);
    EXPECT_FALSE(trainer);
    return trainer.status();
  }

  const TemporaryFolder folder_;
  std::string csv_;
  std::uint32_t clicks_ = 0;
  TrainerOptions options_;
  std::mutex mutex_;
  std::string lines_;
};

}  // namespace thalweg
