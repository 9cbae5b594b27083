#include "train/saved/pass_history.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace thalweg {
namespace {

using Json = nlohmann::json;
using Sums = MetricSums::Sums;

struct NamedSum {
  const char* name;
  double Sums::*sum;
};
constexpr NamedSum kSums[] = {{"weight", &Sums::weight},
                              {"loss", &Sums::loss},
                              {"square", &Sums::square},
                              {"correct", &Sums::correct},
                              {"prediction", &Sums::prediction},
                              {"label", &Sums::label},
                              {"label_square", &Sums::label_square},
                              {"absolute", &Sums::absolute},
                              {"label_log", &Sums::label_log}};

// JSON has no number that is not finite: there it is null.
double number(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json json_of(const Measured& rows) {
  Json json = {{"rows", rows.sums.rows}, {"auc", rows.auc}, {"average_precision", rows.average_precision}};
  for (const NamedSum& of : kSums) json[of.name] = rows.sums.*of.sum;
  return json;
}

Measured measured_from(const Json& json) {
  Measured out;
  out.sums.rows = json.at("rows").get<std::uint64_t>();
  out.auc = number(json.at("auc"));
  out.average_precision = number(json.at("average_precision"));
  for (const NamedSum& of : kSums) out.sums.*of.sum = number(json.at(of.name));
  return out;
}

Json json_of(const EpochNumbers& pass) {
  Json json = {
      {"rows", pass.rows},
      {"steps", pass.steps},
      {"train", {{"loss", pass.train.loss}, {"weight", pass.train.weight}, {"rows", pass.train.rows}}}};
  if (pass.has_valid) json["valid"] = json_of(pass.valid);
  return json;
}

EpochNumbers pass_from(const Json& json) {
  EpochNumbers out;
  out.rows = json.at("rows").get<std::uint64_t>();
  out.steps = json.at("steps").get<std::uint64_t>();
  const Json& train = json.at("train");
  out.train = {number(train.at("loss")), number(train.at("weight")), train.at("rows").get<std::uint64_t>()};
  out.has_valid = json.contains("valid");
  if (out.has_valid) out.valid = measured_from(json["valid"]);
  return out;
}

}  // namespace

std::string to_text(const PassHistory& history) {
  Json json = {{"first_pass", history.first}, {"passes", Json::array()}};
  for (const EpochNumbers& pass : history.passes) json["passes"].push_back(json_of(pass));
  return json.dump();
}

PassHistory history_from_text(std::string_view text) {
  PassHistory out;
  try {
    const Json json = Json::parse(text);
    out.first = json.at("first_pass").get<std::uint32_t>();
    for (const Json& pass : json.at("passes")) {
      EpochNumbers next = pass_from(pass);
      if (!out.passes.empty()) next.steps_before = out.passes.back().steps_before + out.passes.back().steps;
      out.passes.push_back(next);
    }
  } catch (const Json::exception&) {
    return {};
  }
  return out;
}

}  // namespace thalweg
