#include "cli/view/exchange_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/options/sizes.h"
#include "cli/view/svg.h"

namespace thalweg {
namespace {

constexpr double kWidth = 900, kHeight = 560, kLeft = 90, kRight = 190, kTop = 40, kBottom = 50;
constexpr std::size_t kLanesShown = 48;
constexpr double kLaneHeight = 16, kNames = 220;

// A logarithmic axis from pixel `from` to pixel `to`.
class Axis {
 public:
  Axis(double low, double high, double from, double to)
      : low_(std::log10(low)), high_(std::log10(high)), from_(from), to_(to) {
    if (high_ - low_ < 1e-9) high_ = low_ + 1;
  }
  double at(double value) const {
    return from_ + (std::log10(value) - low_) / (high_ - low_) * (to_ - from_);
  }
  std::vector<double> decades() const {
    std::vector<double> marks;
    for (double mark = std::ceil(low_ - 1e-9); mark <= high_ + 1e-9; mark += 1)
      marks.push_back(std::pow(10, mark));
    return marks;
  }

 private:
  double low_, high_, from_, to_;
};

}  // namespace

std::string curves_svg(const std::string& title, const std::vector<SimulatedRow>& rows) {
  const bool by_ranks = std::any_of(rows.begin(), rows.end(), [&](const SimulatedRow& row) {
    return row.demand.ranks != rows[0].demand.ranks;
  });
  const auto x_of = [&](const SimulatedRow& row) {
    return std::max(1.0,
                    by_ranks ? static_cast<double>(row.demand.ranks) : static_cast<double>(row.demand.bytes));
  };
  const auto y_of = [](const SimulatedRow& row) { return std::max(row.result.seconds, 1e-12); };
  double low_x = x_of(rows[0]), high_x = low_x, low_y = y_of(rows[0]), high_y = low_y;
  for (const SimulatedRow& row : rows) {
    low_x = std::min(low_x, x_of(row)), high_x = std::max(high_x, x_of(row));
    low_y = std::min(low_y, y_of(row)), high_y = std::max(high_y, y_of(row));
  }
  const Axis x(low_x, high_x, kLeft, kWidth - kRight), y(low_y / 1.5, high_y * 1.5, kHeight - kBottom, kTop);
  Svg svg(kWidth, kHeight);
  svg.text(kLeft, 24, fmt::format("{} on {}", operation_name(rows[0].demand.operation), title));
  for (const double mark : y.decades()) {
    svg.line(kLeft, y.at(mark), kWidth - kRight, y.at(mark), "#dddddd");
    svg.text(kLeft - 8, y.at(mark) + 4, seconds_text(mark), Svg::Anchor::kEnd);
  }
  std::vector<double> marks;
  for (const SimulatedRow& row : rows) marks.push_back(x_of(row));
  std::sort(marks.begin(), marks.end());
  marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
  const std::size_t every = (marks.size() + 9) / 10;
  for (std::size_t i = 0; i < marks.size(); i += every) {
    const std::string mark =
        by_ranks ? fmt::format("{:.0f}", marks[i]) : size_text(static_cast<std::uint64_t>(marks[i]));
    svg.line(x.at(marks[i]), kTop, x.at(marks[i]), kHeight - kBottom, "#eeeeee");
    svg.text(x.at(marks[i]), kHeight - kBottom + 18, mark, Svg::Anchor::kMiddle);
  }
  svg.text((kLeft + kWidth - kRight) / 2, kHeight - 10, by_ranks ? "ranks" : "bytes", Svg::Anchor::kMiddle);
  std::map<std::string, std::vector<std::pair<double, double>>> curves;
  std::vector<std::string> order;
  for (const SimulatedRow& row : rows) {
    auto& points = curves[row.route];
    if (points.empty()) order.push_back(row.route);
    points.emplace_back(x.at(x_of(row)), y.at(y_of(row)));
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    svg.curve(curves[order[i]], Svg::color(i));
    for (const auto& [px, py] : curves[order[i]]) svg.box(px - 2, py - 2, 4, 4, Svg::color(i));
    const double row_y = kTop + 18 * static_cast<double>(i) + 10;
    svg.box(kWidth - kRight + 16, row_y - 8, 14, 8, Svg::color(i));
    svg.text(kWidth - kRight + 36, row_y, order[i]);
  }
  return std::move(svg).finish();
}

std::string gantt_svg(const Topology& topology, const SimulatedRow& row) {
  const std::vector<Passage>& passages = row.result.passages;
  std::map<LinkIndex, double> busy;
  double end = row.result.seconds;
  for (const Passage& passage : passages) {
    busy[passage.link] += passage.end - passage.begin;
    end = std::max(end, passage.end);
  }
  std::vector<LinkIndex> lanes;
  for (const auto& [link, seconds] : busy) lanes.push_back(link);
  std::stable_sort(lanes.begin(), lanes.end(), [&](LinkIndex a, LinkIndex b) { return busy[a] > busy[b]; });
  if (lanes.size() > kLanesShown) lanes.resize(kLanesShown);
  std::sort(lanes.begin(), lanes.end());
  const double bottom = kTop + kLaneHeight * static_cast<double>(lanes.size());
  Svg svg(kWidth, bottom + kBottom);
  svg.text(
      kNames, 24,
      fmt::format("{} of {} by {} on {}: {}", operation_name(row.demand.operation),
                  size_text(row.demand.bytes), row.route, topology.name(), seconds_text(row.result.seconds)));
  const double scale = end > 0 ? (kWidth - kNames - 20) / end : 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const double y = kTop + kLaneHeight * static_cast<double>(i);
    svg.text(kNames - 8, y + 12, topology.link_name(lanes[i]), Svg::Anchor::kEnd);
    svg.box(kNames, y + 1, kWidth - kNames - 20, kLaneHeight - 2, "#f4f4f4");
    // Passages of one sender that follow each other closer than a picture shows are one box.
    std::vector<Passage> drawn;
    for (const Passage& passage : passages) {
      if (passage.link != lanes[i]) continue;
      const bool joins = !drawn.empty() && drawn.back().from == passage.from &&
                         drawn.back().to == passage.to && (passage.begin - drawn.back().end) * scale < 0.25 &&
                         drawn.size() > 200;
      if (joins) {
        drawn.back().end = passage.end;
        drawn.back().bytes += passage.bytes;
      } else {
        drawn.push_back(passage);
      }
    }
    for (const Passage& passage : drawn) {
      svg.box(kNames + passage.begin * scale, y + 2, std::max(0.2, (passage.end - passage.begin) * scale),
              kLaneHeight - 4, Svg::color(passage.from),
              fmt::format("rank {} to {}: {}, {} to {}", passage.from, passage.to, size_text(passage.bytes),
                          seconds_text(passage.begin), seconds_text(passage.end)));
    }
  }
  for (int i = 0; i <= 4; ++i) {
    const double at = end * i / 4;
    svg.text(kNames + at * scale, bottom + 18, seconds_text(at),
             i == 4 ? Svg::Anchor::kEnd : Svg::Anchor::kMiddle);
  }
  svg.text(kNames, bottom + 38, "one row a link; a color is the rank that sends");
  return std::move(svg).finish();
}

}  // namespace thalweg
