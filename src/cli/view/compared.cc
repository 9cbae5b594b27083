#include "cli/view/compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/new_file.h"
#include "cli/view/compared_pictures.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;

std::optional<double> finite(std::optional<double> number) {
  return number && std::isfinite(*number) ? number : std::nullopt;
}

// One field of a run, in JSON and CSV by this name.
struct Field {
  const char* name;
  std::optional<double> value;
};

std::vector<Field> fields_of(const ComparedTraining& run, const std::optional<Target>& target) {
  const TrainResult& r = run.result;
  const LossPoint* met = run.met(target);
  const LossPoint last = r.complete ? run.scored_last() : LossPoint();
  const auto at_target = [&](double value) { return met == nullptr ? std::nullopt : std::optional(value); };
  const LossPoint none;
  const LossPoint& at = met == nullptr ? none : *met;
  return {{"target_seconds", at_target(at.seconds)},
          {"target_steps", at_target(static_cast<double>(at.costs.steps))},
          {"target_bytes", at_target(static_cast<double>(at.costs.bytes_sent))},
          {"seconds", r.seconds},
          {"steps", static_cast<double>(r.steps)},
          {"bytes_sent", static_cast<double>(r.bytes_sent)},
          {"samples_per_second", r.samples_per_second},
          {"train_loss", r.complete ? finite(r.train_loss) : std::nullopt},
          {"valid_loss", finite(last.valid_loss)},
          {"valid_accuracy", finite(last.valid_accuracy)},
          {"staleness_mean", r.staleness_mean},
          {"staleness_p99", static_cast<double>(r.staleness_p99)},
          {"staleness_max", static_cast<double>(r.staleness_max)},
          {"idle_share", r.idle_share},
          {"exchange_seconds_exposed", r.exchange_seconds_exposed}};
}

std::string csv_number(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : std::string();
}

std::string runs_csv(const std::vector<ComparedTraining>& all, const std::optional<Target>& target) {
  std::string text;
  for (const ComparedTraining& run : all) {
    const std::vector<Field> fields = fields_of(run, target);
    if (text.empty()) {
      text = "run,code";
      for (const Field& field : fields) text += fmt::format(",{}", field.name);
      text += ",simulated\n";
    }
    text += fmt::format("{},{}", run.name, code_name(run.result.status.code()));
    for (const Field& field : fields) text += fmt::format(",{}", csv_number(field.value));
    text += fmt::format(",{}\n", run.simulated);
  }
  return text;
}

std::string curves_csv(const std::vector<ComparedTraining>& all) {
  std::string text = "run,seconds,steps,bytes_sent,train_loss,valid_loss,valid_accuracy\n";
  for (const ComparedTraining& run : all) {
    for (const LossPoint& p : run.points) {
      text +=
          fmt::format("{},{},{},{},{},{},{}\n", run.name, p.seconds, p.costs.steps,
                      csv_number(static_cast<double>(p.costs.bytes_sent)), csv_number(finite(p.train_loss)),
                      csv_number(finite(p.valid_loss)), csv_number(finite(p.valid_accuracy)));
    }
  }
  return text;
}

std::string staleness_csv(const std::vector<ComparedTraining>& all) {
  std::string text = "run,steps_min,steps_max,pulls\n";
  for (const ComparedTraining& run : all) {
    for (const LedPulls& some : run.result.led_pulls) {
      text += fmt::format("{},{},{},{}\n", run.name, some.steps_min, some.steps_max, some.pulls);
    }
  }
  return text;
}

std::string push_staleness_csv(const std::vector<ComparedTraining>& all) {
  std::string text = "run,updates,pushes\n";
  for (const ComparedTraining& run : all) {
    for (std::size_t updates = 0; updates < run.updates_between.size(); ++updates) {
      if (run.updates_between[updates] > 0)
        text += fmt::format("{},{},{}\n", run.name, updates, run.updates_between[updates]);
    }
  }
  return text;
}

std::string cell(const std::optional<double>& number, int digits) {
  return number ? fmt::format("{:.{}f}", *number, digits) : std::string("-");
}

std::string bytes_cell(const std::optional<double>& bytes) {
  return bytes ? fmt::format("{:.2f}", *bytes / 1e6) : std::string("-");
}

}  // namespace

LossPoint point_of(const TrainEpoch& epoch, Loss loss) {
  LossPoint point{epoch.seconds, epoch.costs, epoch.train_loss, {}, {}};
  if (!epoch.held_out) return point;
  const HeldOutNumbers& rows = *epoch.held_out;
  point.valid_loss = loss == Loss::kSquared   ? rows.rmse * rows.rmse / 2
                     : loss == Loss::kPoisson ? rows.metrics.at("deviance") / 2
                                              : rows.logloss;
  if (const auto accuracy = rows.metrics.find("accuracy"); accuracy != rows.metrics.end())
    point.valid_accuracy = accuracy->second;
  return point;
}

Clocks clocks_of(const std::vector<ComparedTraining>& all) {
  const auto simulated = std::count_if(all.begin(), all.end(), [](const auto& run) { return run.simulated; });
  if (simulated == 0) return Clocks::kReal;
  return static_cast<std::size_t>(simulated) == all.size() ? Clocks::kSimulated : Clocks::kBoth;
}

std::string shown_name(const ComparedTraining& run, Clocks clocks) {
  return clocks == Clocks::kBoth && run.simulated ? run.name + " (simulated)" : run.name;
}

const LossPoint* ComparedTraining::met(const std::optional<Target>& target) const {
  if (!target) return nullptr;
  for (const LossPoint& point : points) {
    const auto& seen = target->accuracy ? point.valid_accuracy : point.valid_loss;
    if (seen && (target->accuracy ? *seen >= target->value : *seen <= target->value)) return &point;
  }
  return nullptr;
}

LossPoint ComparedTraining::scored_last() const {
  const auto last =
      std::find_if(points.rbegin(), points.rend(), [](const auto& p) { return p.valid_loss.has_value(); });
  return last == points.rend() ? LossPoint() : *last;
}

std::string comparison_table(const std::vector<ComparedTraining>& all, const std::optional<Target>& target) {
  const Clocks clocks = clocks_of(all);
  const std::string simulated = clocks == Clocks::kSimulated ? "simulated " : "";
  std::vector<std::vector<std::string>> rows = {{"run", simulated + "seconds", "steps", "MB", "loss",
                                                 "held-out", "accuracy", "stale", "p99", "max", "idle"}};
  if (target) {
    rows[0].insert(rows[0].begin() + 1, {"to target: " + simulated + "s", "steps", "MB"});
  }
  for (const ComparedTraining& run : all) {
    const TrainResult& r = run.result;
    const LossPoint last = run.scored_last();
    std::vector<std::string> row = {shown_name(run, clocks)};
    if (r.complete && !r.status.ok()) row[0] += fmt::format(" ({})", code_name(r.status.code()));
    if (target) {
      const LossPoint* at = run.met(target);
      row.push_back(at ? fmt::format("{:.2f}", at->seconds) : "-");
      row.push_back(at ? fmt::format("{}", at->costs.steps) : "-");
      row.push_back(at ? bytes_cell(static_cast<double>(at->costs.bytes_sent)) : "-");
    }
    if (r.complete) {
      for (const std::string& text :
           {fmt::format("{:.2f}", r.seconds), fmt::format("{}", r.steps),
            bytes_cell(static_cast<double>(r.bytes_sent)), cell(finite(r.train_loss), 5),
            cell(finite(last.valid_loss), 5), cell(finite(last.valid_accuracy), 4),
            fmt::format("{:.2f}", r.staleness_mean), fmt::format("{}", r.staleness_p99),
            fmt::format("{}", r.staleness_max), cell(r.idle_share, 3)})
        row.push_back(text);
    } else {
      row.push_back(code_name(r.status.code()));
    }
    rows.push_back(std::move(row));
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) line += fmt::format("  {:>{}}", row[i], widths[i]);
    text += line + "\n";
  }
  return text;
}

ordered_json comparison_json(const std::vector<ComparedTraining>& all, const std::optional<Target>& target) {
  ordered_json runs = ordered_json::array();
  for (const ComparedTraining& run : all) {
    ordered_json one = {{"run", run.name}, {"code", code_name(run.result.status.code())}};
    for (const Field& field : fields_of(run, target))
      one[field.name] = field.value ? ordered_json(*field.value) : ordered_json(nullptr);
    one["simulated"] = run.simulated;
    runs.push_back(std::move(one));
  }
  return {{"runs", std::move(runs)}};
}

Status write_comparison(const std::string& directory, const std::vector<ComparedTraining>& all,
                        const std::optional<Target>& target) {
  const std::string at = directory + "/";
  for (const auto& [name, text] :
       {std::pair("runs.csv", runs_csv(all, target)), std::pair("curves.csv", curves_csv(all)),
        std::pair("staleness.csv", staleness_csv(all)),
        std::pair("push-staleness.csv", push_staleness_csv(all))}) {
    if (Status written = write_new_file(at + name, text); !written.ok()) return written;
  }
  return draw_comparison(at, all, target);
}

}  // namespace thalweg
