#include "train/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/rule_fields.h"
#include "base/word_list.h"
#include "model/model_kind.h"
#include "train/plan/plan_checks.h"

namespace thalweg {
namespace {

// A number that changes neither which rows a step has nor what a server holds of a key, so that batches that
// one training has prepared are those of all.
struct SweptNumber {
  std::string_view name;
  std::optional<float> TrainerOptions::*number;
};
constexpr std::array kSwept = {
    SweptNumber{"rate", &TrainerOptions::rate},
    SweptNumber{"bias-rate", &TrainerOptions::bias_rate},
    SweptNumber{"l1", &TrainerOptions::l1},
    SweptNumber{"l2", &TrainerOptions::l2},
    SweptNumber{"factor-rate", &TrainerOptions::factor_rate},
    SweptNumber{"factor-l2", &TrainerOptions::factor_l2},
    SweptNumber{"layer-rate", &TrainerOptions::layer_rate},
};

const SweptNumber* swept_number(std::string_view name) {
  const auto found = std::find_if(kSwept.begin(), kSwept.end(),
                                  [&](const SweptNumber& swept) { return swept.name == name; });
  return found == kSwept.end() ? nullptr : &*found;
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<float> sweep_value(std::string_view text) {
  float value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return good && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

// One name's values.
Result<std::vector<SweepSetting>> settings_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (swept_number(name) == nullptr || equals == text.npos) {
    std::vector<std::string_view> names;
    for (const SweptNumber& swept : kSwept) names.push_back(swept.name);
    return Status(Code::kUsage, fmt::format("--sweep: saw \"{}\", expected NAME=VALUE,... with NAME {}", text,
                                            any_of_words(names)));
  }
  std::vector<SweepSetting> settings;
  for (const std::string_view part : parts_of(text.substr(equals + 1), ',')) {
    const auto value = sweep_value(part);
    if (!value) {
      return Status(Code::kUsage,
                    fmt::format("--sweep: saw \"{}\" for {}, expected a number from 0", part, name));
    }
    for (const SweepSetting& earlier : settings) {
      if (earlier.value == *value)
        return Status(Code::kUsage, fmt::format("--sweep: {} of {} stands twice", part, name));
    }
    settings.push_back({std::string(name), *value});
  }
  return settings;
}

}  // namespace

Result<std::vector<SweepPoint>> sweep_points(std::string_view text) {
  std::vector<SweepPoint> points(1);
  for (const std::string_view part : parts_of(text, ';')) {
    const auto settings = settings_of(part);
    if (!settings) return settings.status();
    const std::string& name = settings->front().name;
    for (const SweepSetting& earlier : points.front()) {
      if (earlier.name == name)
        return Status(Code::kUsage,
                      fmt::format("--sweep: {} stands twice, expected all its values once", name));
    }
    if (points.size() * settings->size() > kTrialsMax) {
      return Status(Code::kUsage, fmt::format("--sweep: more than {} combinations", kTrialsMax));
    }
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points) {
      for (const SweepSetting& setting : *settings) {
        longer.push_back(point);
        longer.back().push_back(setting);
      }
    }
    points = std::move(longer);
  }
  return points;
}

void leave_to_sweep(TrainerOptions& options) {
  const auto points = sweep_points(options.sweep);
  if (options.sweep.empty() || !points) return;
  for (const SweepSetting& setting : points->front()) (options.*swept_number(setting.name)->number).reset();
}

TrainerOptions at_point(TrainerOptions options, const SweepPoint& point) {
  options.sweep.clear();
  for (const SweepSetting& setting : point) {
    options.*swept_number(setting.name)->number = setting.value;
    options.stored[setting.name] = fmt::format("{}", setting.value);
  }
  return options;
}

namespace {

// A name that the model and its rules have no use for, beside those that no training takes.
Status check_names(const SweepPoint& point, const ModelSpec& model) {
  const auto kind = find_kind(model);
  if (!kind) return kind.status();
  for (const SweepSetting& setting : point) {
    const std::string& name = setting.name;
    std::string why;
    if (name == "bias-rate" && (*kind)->dense != nullptr)
      why = fmt::format("--model {} has one rate for all that it learns", model.name);
    if (name == "l1" && !takes_l1(model.weights.kind) && model.weights.kind != RuleKind::kCustom)
      why = fmt::format("--optimizer {} has no such penalty", rule_name(model.weights.kind));
    if (why.empty()) continue;
    return {Code::kUsage, fmt::format("--sweep: {} has no meaning here, since {}; each of its values would "
                                      "train the same model",
                                      name, why)};
  }
  return ok_status();
}

// The model's rules with what the point says.
ModelSpec with_rates(const SweepPoint& point, ModelSpec model) {
  for (const SweepSetting& setting : point) {
    if (setting.name == "rate") model.weights.rate = setting.value;
    if (setting.name == "bias-rate") model.bias_rate = setting.value;
    if (setting.name == "factor-rate") model.factors.rate = setting.value;
  }
  return model;
}

}  // namespace

Status as_swept(const SweepPoint& point, const Status& status) {
  for (const SweepSetting& setting : point) {
    const std::string flag = fmt::format("--{} {}: ", setting.name, setting.value);
    if (status.message().starts_with(fmt::format("--{} has no meaning ", setting.name)))
      return {status.code(), "--sweep: " + status.message().substr(2)};
    if (!status.message().starts_with(flag)) continue;
    return {status.code(), fmt::format("--sweep, {}={}: {}", setting.name, setting.value,
                                       status.message().substr(flag.size()))};
  }
  return status;
}

Status check_swept(const std::vector<SweepPoint>& points, const ModelSpec& model) {
  if (points.empty()) return ok_status();
  if (Status status = check_names(points.front(), model); !status.ok()) return status;
  for (const SweepPoint& point : points) {
    if (Status status = check_rates(with_rates(point, model)); !status.ok()) return as_swept(point, status);
  }
  return ok_status();
}

Status check_sweep(const TrainerOptions& options) {
  if (options.sweep.empty()) return ok_status();
  const auto points = sweep_points(options.sweep);
  if (!points) return points.status();
  for (const SweepSetting& setting : points->front()) {
    if (const auto& told = options.*swept_number(setting.name)->number)
      return {Code::kUsage, fmt::format("--{} {} and --sweep '{}' both set {}; expected one of the two",
                                        setting.name, *told, options.sweep, setting.name)};
  }
  if (std::find(options.files.begin(), options.files.end(), "-") != options.files.end())
    return {Code::kUsage, "--sweep trains on its input again and again: standard input can be read once"};
  if (!options.checkpoint.directory.empty() || !options.checkpoint.resume.empty())
    return {Code::kUsage, "--sweep makes no sense with checkpoints, which are of one training"};
  return ok_status();
}

std::string point_text(const SweepPoint& point) {
  std::string text;
  for (const SweepSetting& setting : point)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", setting.name, setting.value);
  return text;
}

}  // namespace thalweg
