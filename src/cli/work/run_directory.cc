#include "cli/work/run_directory.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "cli/build_info.h"
#include "cli/new_file.h"
#include "cli/options/settings.h"

namespace thalweg {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string text_of(const ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Status write_file(const std::string& path, const ordered_json& json) {
  return write_new_file(path, text_of(json, 2));
}

ordered_json environment_of(const Options& options) {
  const BuildInfo build = build_info();
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return {{"command", options.command().path},
          {"arguments", options.arguments()},
          {"began", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now))},
          {"version", build.version},
          {"build_type", build.build_type},
          {"compiler", build.compiler},
          {"isa", build.isa},
          {"cores", std::thread::hardware_concurrency()}};
}

}  // namespace

RunDirectory::RunDirectory(std::string path)
    : path_(std::move(path)), metrics_(path_ + "/" + kMetricsFile, std::ios::binary) {}

Result<RunDirectory> RunDirectory::make(const std::string& path, const Options& options) {
  std::error_code error;
  if (const std::string out = options.has("out") ? options.text("out") : "";
      !out.empty() && fs::weakly_canonical(out, error) == fs::weakly_canonical(path, error))
    return Status(Code::kUsage,
                  fmt::format("--run-dir and --out are both {}; expected a directory for each", path));
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error))
    return Status(Code::kIo, fmt::format("cannot make the run directory {}: {}", path,
                                         error ? error.message() : "it is no directory"));
  const bool empty = fs::is_empty(path, error);
  if (error) return Status(Code::kIo, fmt::format("cannot read {}: {}", path, error.message()));
  if (!empty) {
    return Status(Code::kUsage,
                  fmt::format("{} is not empty; expected a new directory, one for each run", path));
  }
  ordered_json settings = settings_of(options, &options.command());
  for (const OptionRow& row : options.command().own) {
    settings[std::string(spelling(row))] = {{"value", json_value(options.value(row.name))},
                                            {"origin", options.place(row.name)}};
  }
  if (Status status = write_file(path + "/config.json", settings); !status.ok()) return status;
  if (Status status = write_file(path + "/environment.json", environment_of(options)); !status.ok())
    return status;
  return RunDirectory(path);
}

void RunDirectory::add(double seconds, ordered_json line) {
  last_line_s_ = std::max(last_line_s_, seconds);
  ordered_json whole = {{"seconds", last_line_s_}};
  whole.update(line);
  metrics_ << text_of(whole, -1) << std::flush;  // So that it can be read while the run goes on.
}

Status RunDirectory::add_scheduler(const std::string& address) {
  return write_file(path_ + "/scheduler.json", {{"address", address}, {"pid", getpid()}});
}

bool RunDirectory::is_progress_due(double seconds) {
  constexpr double kFirst = 0.1, kShare = 0.005;
  if (seconds < progress_due_s_) return false;
  progress_due_s_ = seconds + std::max(kFirst, kShare * seconds);
  return true;
}

Status RunDirectory::end(ordered_json result, const Status& how, std::optional<double> simulated_s) {
  ordered_json whole = {{"seconds", simulated_s.value_or(seconds())}, {"code", code_name(how.code())}};
  if (simulated_s) whole["simulated"] = true;
  if (!how.ok()) whole["message"] = how.message();
  if (!result.is_null()) whole["result"] = std::move(result);
  if (Status written = write_file(path_ + "/result.json", whole); !written.ok()) return written;
  metrics_.close();
  if (metrics_) return ok_status();
  return {Code::kIo, fmt::format("{}/{} could not be written to its end", path_, kMetricsFile)};
}

}  // namespace thalweg
