#include "cli/view/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRedrawEvery = 100ms;
constexpr Duration kLineEvery = 10s;
constexpr Duration kMeasureEvery = 50ms;
constexpr double kMemorySeconds = 10;
constexpr double kMostSecondsLeft = 1e7;  // What stands still has no estimate.
constexpr double kEnoughSeconds = 1;      // Rows come in bursts: less time tells no rate.
constexpr std::size_t kBarMax = 10;
constexpr std::size_t kBarMin = 4;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string bar(double done, std::size_t width) {
  const auto filled = static_cast<std::size_t>(std::lround(done * static_cast<double>(width)));
  return fmt::format("[{}{}]", std::string(filled, '#'), std::string(width - filled, '-'));
}

std::size_t joined_size(const std::vector<std::string>& parts) {
  std::size_t size = 0;
  for (const std::string& part : parts) size += part.size() + (size == 0 ? 0 : 2);
  return size;
}

}  // namespace

std::string short_count(double count) {
  constexpr std::pair<double, const char*> kUnits[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const auto& [size, unit] : kUnits) {
    if (count < size) continue;
    const double value = count / size;
    return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
  }
  return fmt::format("{:.0f}", count);
}

std::string short_time(double seconds_left) {
  constexpr double kRounding = 1e-6;
  const auto whole = static_cast<std::int64_t>(std::ceil(std::clamp(seconds_left, 0.0, 3.6e8) - kRounding));
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, rest)
                   : fmt::format("{}:{:02}", minutes, rest);
}

std::string progress_line(const ProgressNumbers& numbers, std::optional<double> examples_per_second,
                          std::optional<double> seconds_left, int columns) {
  std::vector<std::string> parts = {fmt::format("epoch {}/{}", numbers.epoch, numbers.epochs)};
  const double done = std::clamp(numbers.done.value_or(0), 0.0, 1.0);
  const auto part_done = [&](std::size_t width) {
    const std::string percent = fmt::format("{:.0f}%", std::floor(done * 100));
    return width < kBarMin ? percent : fmt::format("{} {}", percent, bar(done, width));
  };
  if (numbers.done) {
    parts.push_back(part_done(kBarMax));
    if (seconds_left) parts.back() += fmt::format(" eta {}", short_time(*seconds_left));
    if (done >= 1) parts.back() += " finishing";
  } else {
    parts.push_back(fmt::format("{} examples", short_count(static_cast<double>(numbers.examples))));
  }
  if (examples_per_second) parts.push_back(fmt::format("{} ex/s", short_count(*examples_per_second)));
  if (numbers.loss) parts.push_back(fmt::format("{} {:.4f}", numbers.loss_name, *numbers.loss));
  if (numbers.auc) parts.push_back(fmt::format("train auc {:.4f}", *numbers.auc));
  parts.push_back(fmt::format("staleness {}", numbers.staleness));
  parts.push_back(fmt::format("W {}/{} S {}/{}", numbers.workers_alive, numbers.workers,
                              numbers.servers_alive, numbers.servers));
  const auto room = static_cast<std::size_t>(std::max(columns, 1));
  if (numbers.done && joined_size(parts) > room) {
    const std::size_t excess = joined_size(parts) - room;
    const std::size_t width = excess > kBarMax - kBarMin ? 0 : kBarMax - excess;
    parts[1].replace(0, part_done(kBarMax).size(), part_done(width));
  }
  while (parts.size() > 1 && joined_size(parts) > room) parts.pop_back();
  return fmt::format("{}", fmt::join(parts, "  ")).substr(0, room);
}

Progress::Progress(bool terminal, Write write, std::function<int()> columns)
    : terminal_(terminal), write_(std::move(write)), columns_(std::move(columns)) {}

void Progress::measure(const ProgressNumbers& numbers, Instant now) {
  const double elapsed = seconds(now - measured_at_);
  if (measures_ && now - measured_at_ < kMeasureEvery) return;
  const double done = std::max(numbers.done.value_or(0), done_);
  const std::uint64_t examples = std::max(numbers.examples, examples_);
  if (measures_) {
    const double kept = std::exp(-elapsed / kMemorySeconds);
    recent_seconds_ = recent_seconds_ * kept + elapsed;
    recent_examples_ = recent_examples_ * kept + static_cast<double>(examples - examples_);
    recent_done_ = recent_done_ * kept + (done - done_);
  }
  measures_ = measures_ || examples > 0 || done > 0;
  measured_at_ = now, examples_ = examples, done_ = done;
}

void Progress::update(const ProgressNumbers& numbers, Instant now) {
  if (!started_) {
    started_ = true;
    drawn_at_ = now;
  }
  if (!measures_) measure(numbers, now);
  if (now - drawn_at_ < (terminal_ ? kRedrawEvery : kLineEvery)) return;
  measure(numbers, now);
  drawn_at_ = now;
  draw(numbers);
}

void Progress::draw(const ProgressNumbers& numbers) {
  std::optional<double> rate, left;
  const bool all_done = numbers.done >= 1.0;  // What is left is writing, whose time no row tells.
  if (recent_seconds_ >= kEnoughSeconds && !all_done) {
    rate = recent_examples_ / recent_seconds_;
    if (numbers.done && recent_done_ > 0) left = (1 - *numbers.done) * recent_seconds_ / recent_done_;
    if (left > kMostSecondsLeft) left.reset();
  }
  // A cursor in the last column makes some terminals wrap.
  constexpr int kPlainColumns = 1000;
  const int columns = terminal_ ? columns_() - 1 : kPlainColumns;
  const std::string line = progress_line(numbers, rate, left, columns);
  write_(terminal_ ? fmt::format("\r{}\x1b[K", line) : line + "\n");
  drawn_ = true;
}

void Progress::clear() {
  if (terminal_ && drawn_) write_("\r\x1b[K");
}

int terminal_columns(int descriptor) {
  if (isatty(descriptor) != 1) return 0;
  winsize size = {};
  constexpr int kUsual = 80;
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

}  // namespace thalweg
