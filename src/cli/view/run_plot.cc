#include "cli/view/run_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/new_file.h"
#include "cli/view/drawing.h"
#include "cli/view/printable.h"
#include "cli/work/run_directory.h"

namespace thalweg {
namespace {

constexpr std::size_t kMetricsLineBytesMax = std::size_t{1} << 16;
constexpr std::size_t kLettersBelowBars = 60;  // That fit beside each other.

std::optional<RunLine> line_of(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.value("kind", nlohmann::json()).is_string()) return std::nullopt;
  RunLine line;
  line.is_epoch = json["kind"] == "epoch";
  for (const auto& [name, value] : json.items()) {
    if (value.is_number()) line.numbers.emplace_back(name, value.get<double>());
  }
  return line;
}

// In single quotes of gnuplot, where nothing but the quote has a meaning.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : printable(text)) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::filesystem::path without_end(const std::string& directory) {
  const std::filesystem::path path = std::filesystem::path(directory).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

std::string last_parts(std::filesystem::path path, std::ptrdiff_t count) {
  std::filesystem::path last;
  for (; count > 0 && path.has_filename(); --count, path = path.parent_path())
    last = last.empty() ? path.filename() : path.filename() / last;
  return last.string();
}

// As much of their paths' ends as tells them apart.
std::vector<std::string> names_of(const std::vector<std::string>& directories) {
  std::vector<std::filesystem::path> paths;
  std::ptrdiff_t longest = 1;
  for (const std::string& directory : directories) {
    paths.push_back(without_end(directory));
    longest = std::max(longest, std::distance(paths.back().begin(), paths.back().end()));
  }
  const std::size_t apart = std::set(paths.begin(), paths.end()).size();
  for (std::ptrdiff_t count = 1;; ++count) {
    std::vector<std::string> names;
    for (const std::filesystem::path& path : paths) names.push_back(last_parts(path, count));
    if (count >= longest || std::set(names.begin(), names.end()).size() == apart) return names;
  }
}

// By what its directory says of it; one that says nothing was for real.
bool is_simulated(const std::string& directory) {
  std::ifstream file(directory + "/environment.json", std::ios::binary);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  const auto command = json.is_object() ? json.find("command") : json.end();
  return command != json.end() && *command == "simulate train";
}

std::string head_of(const Axes& axes, bool png) {
  std::string script = png ? "set terminal pngcairo size 900,560 noenhanced\n"
                           : "set terminal svg size 900,560 noenhanced background rgb 'white'\n";
  script += fmt::format("set title {}\nset xlabel {}\nset ylabel {}\n", in_quotes(axes.what),
                        in_quotes(axes.x), in_quotes(axes.y));
  return script + "set grid\nset key outside right top\n";
}

bool ends_with_png(const std::string& path) { return path.size() > 4 && path.ends_with(".png"); }

}  // namespace

std::optional<double> RunLine::number(const std::string& field) const {
  const auto found =
      std::find_if(numbers.begin(), numbers.end(), [&](const auto& one) { return one.first == field; });
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

Result<std::vector<RunLine>> read_run(const std::string& directory) {
  const std::string path = directory + "/" + kMetricsFile;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Status(Code::kData,
                  fmt::format("{} cannot be opened; expected a directory that train --run-dir wrote", path));
  }
  std::vector<RunLine> lines;
  std::string text;
  for (std::size_t number = 1; std::getline(file, text); ++number) {
    if (file.eof()) break;  // A line that is being written.
    const auto line = text.size() <= kMetricsLineBytesMax ? line_of(text) : std::nullopt;
    if (!line)
      return Status(Code::kData, fmt::format("{}:{}: expected a JSON object with a \"kind\"", path, number));
    lines.push_back(*line);
  }
  if (file.bad()) return Status(Code::kIo, fmt::format("{} cannot be read", path));
  return lines;
}

std::string curves_script(const Axes& axes, const std::vector<Curve>& curves, bool png) {
  std::string script = head_of(axes, png);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    script += fmt::format("$curve{} << EOD\n", i);
    for (const auto& [x, y] : curves[i].points) script += fmt::format("{} {}\n", x, y);
    script += "EOD\n";
  }
  script += "plot ";
  for (std::size_t i = 0; i < curves.size(); ++i) {
    script += fmt::format("{}$curve{} using 1:2 with {} title {}", i == 0 ? "" : ", ", i,
                          curves[i].marked ? "linespoints pt 7" : "lines", in_quotes(curves[i].name));
  }
  return script + "\n";
}

std::string bars_script(const Axes& axes, const Bars& bars, bool png) {
  std::string script =
      head_of(axes, png) +
      "set style data histograms\nset style fill solid 0.8\nset yrange [0:*]\n$bars << EOD\n";
  std::size_t letters = 0;
  for (const Bars::Group& group : bars.groups) {
    script += fmt::format("\"{}\" {}\n", group.name, fmt::join(group.values, " "));
    letters += group.name.size();
  }
  script += letters > kLettersBelowBars ? "EOD\nset xtics rotate by -20\nplot " : "EOD\nplot ";
  for (std::size_t i = 0; i < bars.series.size(); ++i) {
    script += fmt::format("{}$bars using {}:xtic(1) title {}", i == 0 ? "" : ", ", i + 2,
                          in_quotes(bars.series[i]));
  }
  return script + "\n";
}

Status plot_runs(const Options& options, Output& out, const Axes& axes, CurvesOf curves_of) {
  const std::string path = options.maybe_text("output").value_or("");
  if (Status status = check_picture_name("--output", path, true); !status.ok()) return status;
  std::vector<Curve> curves;
  const std::vector<std::string> names = names_of(options.arguments());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& directory = options.arguments()[i];
    const auto lines = read_run(directory);
    if (!lines) return lines.status();
    const std::string name = names[i] + (is_simulated(directory) ? " (simulated)" : "");
    for (Curve& curve : curves_of(name, *lines)) {
      if (!curve.points.empty()) curves.push_back(std::move(curve));
    }
  }
  if (curves.empty()) {
    return {Code::kData, fmt::format("these runs have no {} to draw: they ended before their first second's "
                                     "tenth, or failed",
                                     axes.what)};
  }
  const auto picture = drawn_by(gnuplot(), curves_script(axes, curves, ends_with_png(path)));
  if (!picture) return picture.status();
  if (path.empty()) {
    out.text(*picture);
    return ok_status();
  }
  return write_new_file(path, *picture);
}

}  // namespace thalweg
