// Numbers that a training is tried with: each combination of them, see TrainerOptions::sweep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "thalweg/status.h"
#include "thalweg/trainer.h"

namespace thalweg {

inline constexpr std::size_t kTrialsMax = 1000;

// One combination, by the names of flags.
using SweepPoint = std::vector<SweepSetting>;

// All of "rate=0.05,0.1;l2=1,10", the last name's values changing first. kUsage: a name that cannot be swept
// or stands twice, what is no number, more than kTrialsMax.
Result<std::vector<SweepPoint>> sweep_points(std::string_view text);
// Takes back what is said of numbers that `options.sweep` names, as by a weaker word.
void leave_to_sweep(TrainerOptions& options);
// The options of one of them.
TrainerOptions at_point(TrainerOptions options, const SweepPoint& point);
// kUsage: a name that the model and its rules have no use for, so that all its values train the same, or a
// point whose rates the rules cannot have. `model`: of the first point.
Status check_swept(const std::vector<SweepPoint>& points, const ModelSpec& model);
// An error of a training's own flag, such as of --rate 0, as one of the sweep that set it; others as they
// are.
Status as_swept(const SweepPoint& point, const Status& status);
// kUsage: what a training with a sweep cannot have.
Status check_sweep(const TrainerOptions& options);

// "rate=0.1 l2=10"
std::string point_text(const SweepPoint& point);

}  // namespace thalweg
