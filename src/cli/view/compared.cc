#include "cli/view/compared.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/new_file.h"
#include "cli/view/drawing.h"
#include "cli/view/run_plot.h"

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
          {"valid_loss", finite(r.valid_loss)},
          {"valid_accuracy", finite(r.valid_accuracy)},
          {"staleness_mean", r.staleness_mean},
          {"staleness_p99", static_cast<double>(r.staleness_p99)},
          {"staleness_max", static_cast<double>(r.staleness_max)},
          {"idle_share", r.idle_share},
          {"exchange_seconds_exposed", r.exchange_seconds_exposed}};
}

// Whose seconds the runs have.
enum class Clocks { kReal, kSimulated, kBoth };

Clocks clocks_of(const std::vector<ComparedTraining>& all) {
  const auto simulated = std::count_if(all.begin(), all.end(), [](const auto& run) { return run.simulated; });
  if (simulated == 0) return Clocks::kReal;
  return static_cast<std::size_t>(simulated) == all.size() ? Clocks::kSimulated : Clocks::kBoth;
}

std::string shown_name(const ComparedTraining& run, Clocks clocks) {
  return clocks == Clocks::kBoth && run.simulated ? run.name + " (simulated)" : run.name;
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

using Abscissa = double (*)(const LossPoint& point);

std::vector<Curve> loss_curves_by(const std::vector<ComparedTraining>& all, Abscissa x) {
  std::vector<Curve> curves;
  const Clocks clocks = clocks_of(all);
  for (const ComparedTraining& run : all) {
    const std::string name = shown_name(run, clocks);
    Curve train{name + ", training", {}}, valid{name + ", held out", {}, true};
    for (const LossPoint& point : run.points) {
      if (std::isfinite(point.train_loss)) train.points.emplace_back(x(point), point.train_loss);
      if (finite(point.valid_loss)) valid.points.emplace_back(x(point), *point.valid_loss);
    }
    for (Curve& curve : {std::ref(train), std::ref(valid)}) {
      if (!curve.points.empty()) curves.push_back(std::move(curve));
    }
  }
  return curves;
}

// Leads that share a group of bars: each its own while there are few, else from 4 on by powers of two.
LedPulls group_of(const LedPulls& some, bool few) {
  if (few || some.steps_min < 4) return some;
  const std::uint32_t least = std::bit_floor(some.steps_min);
  return {least, std::max(2 * least - 1, some.steps_max), some.pulls};
}

// By the least lead of the group.
std::map<std::uint32_t, LedPulls> grouped(const ComparedTraining& run, bool few) {
  std::map<std::uint32_t, LedPulls> groups;
  for (const LedPulls& some : run.result.led_pulls) {
    const LedPulls group = group_of(some, few);
    const auto [found, fresh] = groups.try_emplace(group.steps_min, group);
    if (!fresh) found->second.pulls += group.pulls;
  }
  return groups;
}

Bars staleness_bars(const std::vector<ComparedTraining>& all) {
  constexpr std::size_t kNamesThatFit = 16;
  std::set<std::uint32_t> leads;
  for (const ComparedTraining& run : all) {
    for (const LedPulls& some : run.result.led_pulls) leads.insert(some.steps_min);
  }
  const bool few = leads.size() <= kNamesThatFit;
  Bars bars;
  std::map<std::uint32_t, Bars::Group> groups;
  const Clocks clocks = clocks_of(all);
  for (std::size_t r = 0; r < all.size(); ++r) {
    bars.series.push_back(shown_name(all[r], clocks));
    double pulls = 0;
    for (const LedPulls& some : all[r].result.led_pulls) pulls += static_cast<double>(some.pulls);
    for (const auto& [least, some] : grouped(all[r], few)) {
      Bars::Group& group = groups[least];
      group.values.resize(all.size());
      group.values[r] = pulls > 0 ? static_cast<double>(some.pulls) / pulls : 0;
      group.name =
          least == some.steps_max ? fmt::format("{}", least) : fmt::format("{}-{}", least, some.steps_max);
    }
  }
  for (auto& [least, group] : groups) bars.groups.push_back(std::move(group));
  return bars;
}

Bars idle_bars(const std::vector<ComparedTraining>& all) {
  Bars bars{{"idle"}, {}};
  const Clocks clocks = clocks_of(all);
  for (const ComparedTraining& run : all) {
    bars.groups.push_back({shown_name(run, clocks), {run.result.idle_share}});
  }
  return bars;
}

Status write_text(const std::string& path, const std::string& text) {
  NewFile file(path);
  if (Status written = file.write(text); !written.ok()) return written;
  return file.commit();
}

// `script` of a PNG, or of an SVG.
template <class Script>
Status draw_both(const std::string& path, Script script) {
  for (const bool png : {false, true}) {
    const auto picture = drawn_by(gnuplot(), script(png));
    if (!picture) return picture.status();
    if (Status written = write_text(path + (png ? ".png" : ".svg"), *picture); !written.ok()) return written;
  }
  return ok_status();
}

Status draw_curves(const std::string& path, const Axes& axes, const std::vector<Curve>& curves) {
  if (curves.empty()) return ok_status();
  return draw_both(path, [&](bool png) { return curves_script(axes, curves, png); });
}

Status draw_bars(const std::string& path, const Axes& axes, const Bars& bars) {
  if (bars.groups.empty()) return ok_status();
  return draw_both(path, [&](bool png) { return bars_script(axes, bars, png); });
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
  point.valid_loss = loss == Loss::kSquared ? rows.rmse * rows.rmse / 2 : rows.logloss;
  if (const auto accuracy = rows.metrics.find("accuracy"); accuracy != rows.metrics.end())
    point.valid_accuracy = accuracy->second;
  return point;
}

const LossPoint* ComparedTraining::met(const std::optional<Target>& target) const {
  if (!target) return nullptr;
  for (const LossPoint& point : points) {
    const auto& seen = target->accuracy ? point.valid_accuracy : point.valid_loss;
    if (seen && (target->accuracy ? *seen >= target->value : *seen <= target->value)) return &point;
  }
  return nullptr;
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
    std::vector<std::string> row = {shown_name(run, clocks)};
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
            cell(finite(r.valid_loss), 5), cell(finite(r.valid_accuracy), 4),
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
        std::pair("staleness.csv", staleness_csv(all))}) {
    if (Status written = write_text(at + name, text); !written.ok()) return written;
  }
  const auto by_seconds = loss_curves_by(all, [](const LossPoint& p) { return p.seconds; });
  const auto by_steps =
      loss_curves_by(all, [](const LossPoint& p) { return static_cast<double>(p.costs.steps); });
  const char* const seconds = clocks_of(all) == Clocks::kSimulated ? "simulated seconds" : "seconds";
  for (const Status& status :
       {draw_curves(at + "loss-time", {"loss", seconds, "mean loss of a row"}, by_seconds),
        draw_curves(at + "loss-steps", {"loss", "steps", "mean loss of a row"}, by_steps),
        draw_bars(at + "staleness",
                  {"staleness", "steps that a pull's data shard led the slowest", "share of pulls"},
                  staleness_bars(all)),
        draw_bars(at + "idle", {"idle share", "", "share of the shards' time spent waiting"},
                  idle_bars(all))}) {
    if (!status.ok()) return status;
  }
  return ok_status();
}

}  // namespace thalweg
