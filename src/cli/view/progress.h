// The progress line: rewritten in place on a terminal, a plain line now and then anywhere else.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/instant.h"

namespace thalweg {

// What the job knows at one moment; nothing means unknown.
struct ProgressNumbers {
  std::uint32_t epoch = 1;  // From 1.
  std::uint32_t epochs = 1;
  std::optional<double> done;  // Part of the whole job, 0 to 1.
  std::uint64_t examples = 0;  // So far, over all epochs.
  std::optional<double> loss;
  std::string loss_name = "train logloss";
  std::optional<double> auc;
  std::uint32_t staleness = 0;
  std::uint32_t workers_alive = 0, workers = 0;
  std::uint32_t servers_alive = 0, servers = 0;
};

// One thread; times must not go back.
class Progress {
 public:
  using Write = std::function<void(std::string_view)>;
  // columns() is asked at each redraw, so that the line follows a resized window. `terminal` false: plain
  // lines.
  Progress(bool terminal, Write write, std::function<int()> columns);

  // Draws when due: 10 times a second on a terminal, otherwise every 10 seconds.
  void update(const ProgressNumbers& numbers, Instant now);
  // Removes the line from the terminal, so that other words can be written.
  void clear();

 private:
  void measure(const ProgressNumbers& numbers, Instant now);
  void draw(const ProgressNumbers& numbers);

  bool terminal_;
  Write write_;
  std::function<int()> columns_;
  bool started_ = false;
  bool drawn_ = false;
  bool measures_ = false;  // From the first rows on: what comes before them is no part of any rate.
  Instant measured_at_;
  Instant drawn_at_;
  std::uint64_t examples_ = 0;
  double done_ = 0;
  // What was done, and in what time; of both, what is older counts less, over about 10 seconds.
  double recent_seconds_ = 0;
  double recent_examples_ = 0;
  double recent_done_ = 0;
};

// At most `columns` wide: the bar shrinks first, then the last parts go.
std::string progress_line(const ProgressNumbers& numbers, std::optional<double> examples_per_second,
                          std::optional<double> seconds_left, int columns);
// "1.24M", "980", "12.3k"
std::string short_count(double count);
// "0:12", "1:02:03"
std::string short_time(double seconds);

// Width of the terminal behind a file descriptor, or 0 if it is none.
int terminal_columns(int descriptor);

}  // namespace thalweg
