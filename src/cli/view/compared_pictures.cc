#include "cli/view/compared_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "cli/new_file.h"
#include "cli/view/drawing.h"
#include "cli/view/run_plot.h"

namespace thalweg {
namespace {

using Abscissa = double (*)(const LossPoint& point);

std::vector<Curve> loss_curves_by(const std::vector<ComparedTraining>& all, Abscissa x) {
  std::vector<Curve> curves;
  const Clocks clocks = clocks_of(all);
  for (const ComparedTraining& run : all) {
    const std::string name = shown_name(run, clocks);
    Curve train{name + ", training", {}}, valid{name + ", held out", {}, true};
    for (const LossPoint& point : run.points) {
      if (std::isfinite(point.train_loss)) train.points.emplace_back(x(point), point.train_loss);
      if (point.valid_loss && std::isfinite(*point.valid_loss))
        valid.points.emplace_back(x(point), *point.valid_loss);
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

// A bar for each run that has the number.
template <class Number>
Bars bars_of(const std::vector<ComparedTraining>& all, const char* what, Number number) {
  Bars bars{{what}, {}};
  const Clocks clocks = clocks_of(all);
  for (const ComparedTraining& run : all) {
    if (const std::optional<double> value = number(run); value)
      bars.groups.push_back({shown_name(run, clocks), {*value}});
  }
  return bars;
}

std::vector<Curve> push_staleness_curves(const std::vector<ComparedTraining>& all) {
  std::vector<Curve> curves;
  for (const ComparedTraining& run : all) {
    double pushes = 0;
    for (const std::uint64_t count : run.updates_between) pushes += static_cast<double>(count);
    Curve curve{shown_name(run, clocks_of(all)), {}, true};
    for (std::size_t updates = 0; updates < run.updates_between.size(); ++updates) {
      if (const std::uint64_t count = run.updates_between[updates]; count > 0)
        curve.points.emplace_back(static_cast<double>(updates), static_cast<double>(count) / pushes);
    }
    if (!curve.points.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

// `script` of a PNG, or of an SVG.
template <class Script>
Status draw_both(const std::string& path, Script script) {
  for (const bool png : {false, true}) {
    const auto picture = drawn_by(gnuplot(), script(png));
    if (!picture) return picture.status();
    if (Status written = write_new_file(path + (png ? ".png" : ".svg"), *picture); !written.ok())
      return written;
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

}  // namespace

Status draw_comparison(const std::string& at, const std::vector<ComparedTraining>& all,
                       const std::optional<Target>& target) {
  const std::string simulated = clocks_of(all) == Clocks::kSimulated ? "simulated " : "";
  const auto by_seconds = loss_curves_by(all, [](const LossPoint& p) { return p.seconds; });
  const auto by_steps =
      loss_curves_by(all, [](const LossPoint& p) { return static_cast<double>(p.costs.steps); });
  const auto by_bytes =
      loss_curves_by(all, [](const LossPoint& p) { return static_cast<double>(p.costs.bytes_sent) / 1e6; });
  const auto to_target = [&](const ComparedTraining& run) -> std::optional<double> {
    const LossPoint* met = run.met(target);
    return met == nullptr ? std::nullopt : std::optional(met->seconds);
  };
  const auto rate = [](const ComparedTraining& run) { return std::optional(run.result.samples_per_second); };
  const auto idle = [](const ComparedTraining& run) { return std::optional(run.result.idle_share); };
  for (const Status& status :
       {draw_curves(at + "loss-time", {"loss", simulated + "seconds", "mean loss of a row"}, by_seconds),
        draw_curves(at + "loss-steps", {"loss", "steps", "mean loss of a row"}, by_steps),
        draw_curves(at + "loss-bytes", {"loss", "MB sent", "mean loss of a row"}, by_bytes),
        draw_bars(at + "staleness",
                  {"staleness", "steps that a pull's data shard led the slowest", "share of pulls"},
                  staleness_bars(all)),
        draw_curves(at + "push-staleness",
                    {"staleness of gradients", "updates between the read and the push", "share of pushes"},
                    push_staleness_curves(all)),
        draw_bars(at + "target", {"time to the target", "", simulated + "seconds"},
                  bars_of(all, "to the target", to_target)),
        draw_bars(at + "rate", {"throughput", "", "rows a " + simulated + "second"},
                  bars_of(all, "rows", rate)),
        draw_bars(at + "idle", {"idle share", "", "share of the shards' time spent waiting"},
                  bars_of(all, "idle", idle))}) {
    if (!status.ok()) return status;
  }
  return ok_status();
}

}  // namespace thalweg
