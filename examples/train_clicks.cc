// Trains on a file of clicks, shows how it goes, and predicts by the model that it saved:
//   train_clicks [FILE]    a CSV with a header, or libsvm; without FILE it makes one.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "thalweg/trainer.h"

using namespace thalweg;

// 20,000 rows: whether a visitor clicks depends on the hour and on which ad he sees.
std::string make_clicks(const std::string& path) {
  std::mt19937 random(1);
  std::ofstream file(path);
  file << "click,ad,hour\n";
  for (int row = 0; row < 20000; ++row) {
    const auto ad = random() % 50, hour = random() % 24;
    const auto of_100 = 5 + ad + (hour > 17 ? 30 : 0);
    file << (random() % 100 < of_100) << ",ad" << ad << ",h" << hour << '\n';
  }
  return path;
}

int main(int argc, char** argv) {
  const std::string folder = std::filesystem::temp_directory_path() / "train_clicks";
  std::filesystem::create_directory(folder);
  TrainerOptions options;
  options.files = {argc > 1 ? argv[1] : make_clicks(folder + "/clicks.csv")};
  options.valid_part = 10;
  options.epochs = 3;
  options.out = folder + "/model";
  options.on_epoch = [](const TrainEpoch& epoch) {
    std::printf("pass %u: train loss %.4f", epoch.number, epoch.train_loss);
    if (epoch.held_out)
      std::printf(", held-out loss %.4f, auc %.4f", epoch.held_out->logloss, epoch.held_out->auc);
    std::printf("\n");
  };
  auto trainer = Trainer::open(options);
  if (!trainer) return std::fprintf(stderr, "%s\n", trainer.status().message().c_str()), 1;
  const TrainResult result = trainer->run();
  if (!result.status.ok()) return std::fprintf(stderr, "%s\n", result.status.message().c_str()), 1;
  std::printf("%zu rows learnt, model %016zx in %s\n", std::size_t{result.examples},
              std::size_t{result.model_digest}, result.model.c_str());

  double sum = 0;
  std::size_t rows = 0;
  const Status predicted = predict_rows(result.model, options.files, [&](float p) { sum += p, ++rows; });
  if (!predicted.ok()) return std::fprintf(stderr, "%s\n", predicted.message().c_str()), 1;
  std::printf("%zu rows predicted, %.4f clicks a row\n", rows, sum / static_cast<double>(rows));
  const auto& held_out = result.epochs.back().held_out;
  return held_out && held_out->auc > 0.6 ? 0 : 1;
}
