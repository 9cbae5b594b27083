#include "cli/score/shown_bins.h"

#include <fmt/format.h>

#include "model/metric/reliability.h"

namespace thalweg {

Status check_bins(const Options& options, Loss loss) {
  if (!options.has("bins") || loss == Loss::kLogistic) return ok_status();
  return {Code::kUsage,
          fmt::format("--bins is of probabilities, and the model's loss is {}", loss_name(loss))};
}

nlohmann::ordered_json tell_of_bins(const Options& options, ExactAuc& rows, Output& out) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  out.human(fmt::format("{:>12} {:>16} {:>12}\n", "rows", "mean prediction", "mean label"));
  for (const ReliabilityBin& bin :
       reliability_bins(rows, static_cast<std::size_t>(options.integer("bins")))) {
    out.human(fmt::format("{:>12} {:>16.6f} {:>12.6f}\n", bin.rows, bin.prediction, bin.label));
    all.push_back({{"rows", bin.rows},
                   {"weight", bin.weight},
                   {"mean_prediction", bin.prediction},
                   {"mean_label", bin.label}});
  }
  return all;
}

}  // namespace thalweg
