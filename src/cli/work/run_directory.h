// What a run leaves behind for `plot` and other tools: what it was, how it went, and what came out.
// docs/runs.md has the files and their fields.
#pragma once

#include <chrono>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cli/options/options.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr const char* kMetricsFile = "metrics.jsonl";

class RunDirectory {
 public:
  // Makes `path`, which must be absent or empty, with config.json and environment.json. kUsage, kIo.
  static Result<RunDirectory> make(const std::string& path, const Options& options);

  // A line of metrics.jsonl, of `seconds` after the run's begin, or of the last line's if that is later. What
  // cannot be written end() tells.
  void add(double seconds, nlohmann::ordered_json line);
  // Writes scheduler.json: where the scheduler of the run's job listens. kIo.
  Status add_scheduler(const std::string& address);
  // Whether enough time has gone by for a line about progress: a tenth of a second at first, later half a
  // percent of the run's time, so that the file grows with its logarithm.
  bool is_progress_due(double seconds);
  // Writes result.json: `result`, null where there is none, and how the run ended, after `simulated_s` where
  // its time is simulated.
  Status end(nlohmann::ordered_json result, const Status& how, std::optional<double> simulated_s = {});

 private:
  using Clock = std::chrono::steady_clock;
  explicit RunDirectory(std::string path);
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  std::string path_;
  Clock::time_point begin_ = Clock::now();
  double progress_due_s_ = 0, last_line_s_ = 0;
  std::ofstream metrics_;
};

}  // namespace thalweg
