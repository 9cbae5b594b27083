// How compared trainings went, as a table, as files of numbers and as pictures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/work/comparison.h"
#include "thalweg/loss.h"
#include "thalweg/trainer.h"

namespace thalweg {

// What held-out rows say at the end of a pass, or training rows on the way.
struct LossPoint {
  double seconds = 0;
  TrainCosts costs;
  double train_loss = 0;  // NaN: none yet.
  std::optional<double> valid_loss, valid_accuracy;
};

struct ComparedTraining {
  std::string name;
  bool simulated = false;  // By whose clock its times are.
  TrainResult result;
  std::vector<LossPoint> points;  // By time.
  // Simulated: pushes, by how many updates came between the read that they were computed on and them.
  std::vector<std::uint64_t> updates_between;

  // The first pass's end at which the target is met; null: never.
  const LossPoint* met(const std::optional<Target>& target) const;
  // What the model of the last pass that was scored did, whichever one is kept; empty: there is none.
  LossPoint scored_last() const;
};

// Whose seconds the runs have.
enum class Clocks { kReal, kSimulated, kBoth };
Clocks clocks_of(const std::vector<ComparedTraining>& all);
// Where both are there, simulated ones say so.
std::string shown_name(const ComparedTraining& run, Clocks clocks);

// The loss and the accuracy of one pass's held-out rows, where there are any.
LossPoint point_of(const TrainEpoch& epoch, Loss loss);

std::string comparison_table(const std::vector<ComparedTraining>& all, const std::optional<Target>& target);
nlohmann::ordered_json comparison_json(const std::vector<ComparedTraining>& all,
                                       const std::optional<Target>& target);
// Files of numbers, and each picture as SVG and PNG. kIo.
Status write_comparison(const std::string& directory, const std::vector<ComparedTraining>& all,
                        const std::optional<Target>& target);

}  // namespace thalweg
