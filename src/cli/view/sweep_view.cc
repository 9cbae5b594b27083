#include "cli/view/sweep_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace thalweg {

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

void tell_of_sweep(const TrainResult& result, Output& out, nlohmann::ordered_json& json) {
  if (result.sweep.empty()) return;
  std::vector<SweepTrial> trials = result.sweep;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const SweepTrial& trial : trials) {
    nlohmann::ordered_json one;
    for (const SweepSetting& setting : trial.settings)
      one[setting.name] = std::stod(fmt::format("{}", setting.value));
    one["valid_loss"] =
        std::isfinite(trial.valid_loss) ? nlohmann::ordered_json(trial.valid_loss) : nlohmann::ordered_json();
    one["model_digest"] = fmt::format("{:016x}", trial.model_digest);
    one["seconds"] = trial.seconds;
    one["kept"] = trial.kept;
    all.push_back(std::move(one));
  }
  json["sweep"] = std::move(all);
  const auto rank = [](const SweepTrial& trial) {
    return std::isnan(trial.valid_loss) ? std::numeric_limits<double>::infinity() : trial.valid_loss;
  };
  std::stable_sort(trials.begin(), trials.end(),
                   [&](const SweepTrial& a, const SweepTrial& b) { return rank(a) < rank(b); });
  const char* const best = result.not_kept.empty() ? ", kept" : ", the best";
  for (const SweepTrial& trial : trials) {
    std::string text;
    for (const SweepSetting& setting : trial.settings)
      text += fmt::format("{}={} ", setting.name, setting.value);
    out.note(std::isnan(trial.valid_loss) ? fmt::format("  {} {}", text, first_line(trial.status.message()))
                                          : fmt::format("  {} held-out loss {:.5f}{}", text, trial.valid_loss,
                                                        trial.kept ? best : ""));
  }
}

}  // namespace thalweg
