// The program on a model whose predictions are known.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_for_test.h"
#include "model/format/stored_model_for_test.h"

namespace thalweg {

// Logistic regression with bias -1, weight 2 for key 3 and 0.5 for key 5.
class KnownModel : public testing::Test {
 protected:
  void SetUp() override {
    save(folder_ / "model", 2.0f);
    write_text(rows_, "1 3:1\n0 5:2\n0 3:0.5 5:2\n1 9:1\n");
  }

  void save(const std::string& path, float weight, std::map<std::string, std::string> options = {}) {
    ModelSpec spec;
    const std::vector<TableSpec> tables = (*make_model(spec))->tables();
    SystemDisk disk;
    const auto writer = ModelWriter::create(disk, path);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    const std::uint64_t row = 0;
    const float bias = -1;
    std::vector<std::pair<PlacedKey, float>> weights = {{place(3), weight}, {place(5), 0.5f}};
    std::sort(weights.begin(), weights.end());
    ASSERT_TRUE((*writer)->begin_table(tables[0], 1, 1).ok() &&
                (*writer)->append({&row, 1}, {&bias, 1}).ok() && (*writer)->end_table().ok());
    ASSERT_TRUE((*writer)->begin_table(tables[1], 2, 1).ok());
    for (const auto& [key, value] : weights) ASSERT_TRUE((*writer)->append({&key, 1}, {&value, 1}).ok());
    ASSERT_TRUE((*writer)->end_table().ok());
    ASSERT_TRUE((*writer)->commit(spec, std::move(options), {{"valid_auc", 0.75}}).ok());
  }

  // Exit code; what it wrote in out_ and err_.
  int run(const std::string& arguments) {
    Ran ran = thalweg::run(arguments);
    out_ = std::move(ran.out), err_ = std::move(ran.err);
    return ran.code;
  }
  nlohmann::json json() const { return nlohmann::json::parse(out_, nullptr, false); }

  TemporaryFolder folder_;
  std::string model_ = folder_ / "model";
  std::string rows_ = folder_ / "rows.svm";
  std::string out_, err_;
};

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace thalweg
