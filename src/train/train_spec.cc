#include "train/train_spec.h"

#include <nlohmann/json.hpp>

#include "base/rule_fields.h"

namespace thalweg {
namespace {

using Json = nlohmann::json;

Json rule_json(const RuleSpec& rule) {
  Json out = {{"kind", static_cast<int>(rule.kind)}};
  for_each_number(rule, [&out](const char* name, float number) { out[name] = number; });
  return out;
}

RuleSpec rule_from(const Json& json) {
  RuleSpec rule;
  rule.kind = static_cast<RuleKind>(json.at("kind").get<int>());
  for_each_number(rule, [&json](const char* name, float& number) { number = json.at(name).get<float>(); });
  return rule;
}

Json read_json(const ReadOptions& o) {
  return {{"paths", o.paths},
          {"format", o.format},
          {"max_bad_rows", o.max_bad_rows},
          {"hash_bits", o.hash_bits},
          {"interactions", o.interactions},
          {"part", static_cast<int>(o.part)},
          {"part_modulus", o.part_modulus},
          {"binary_labels", o.binary_labels},
          {"classes", o.classes},
          {"counts", o.counts},
          {"columns", o.columns},
          {"known_columns", o.known_columns},
          {"value_scales", o.value_scales},
          {"context", o.text.context},
          {"text_part", static_cast<int>(o.text.part)},
          {"text_parts", o.text.parts},
          {"order", static_cast<int>(o.shuffle.order)},
          {"order_seed", o.shuffle.seed},
          {"pool_bytes", o.shuffle.pool_bytes},
          {"label_column", o.label_column},
          {"weight_column", o.weight_column}};
}

ReadOptions read_from(const Json& j) {
  ReadOptions o;
  o.paths = j.at("paths").get<std::vector<std::string>>();
  o.format = j.at("format").get<std::string>();
  o.max_bad_rows = j.at("max_bad_rows").get<std::uint64_t>();
  o.hash_bits = j.at("hash_bits").get<unsigned>();
  o.interactions = j.at("interactions").get<std::string>();
  o.part = static_cast<Part>(j.at("part").get<int>());
  o.part_modulus = j.at("part_modulus").get<std::uint64_t>();
  o.binary_labels = j.at("binary_labels").get<bool>();
  o.classes = j.at("classes").get<std::uint32_t>();
  o.counts = j.at("counts").get<bool>();
  o.columns = j.at("columns").get<std::string>();
  o.known_columns = j.at("known_columns").get<std::string>();
  o.value_scales = j.at("value_scales").get<std::string>();
  o.text.context = j.at("context").get<std::uint32_t>();
  o.text.part = static_cast<Part>(j.at("text_part").get<int>());
  o.text.parts = j.at("text_parts").get<std::uint64_t>();
  o.shuffle = {static_cast<RowOrder>(j.at("order").get<int>()), j.at("order_seed").get<std::uint64_t>(),
               j.at("pool_bytes").get<std::uint64_t>()};
  o.label_column = j.at("label_column").get<std::string>();
  o.weight_column = j.at("weight_column").get<std::string>();
  return o;
}

Json reached_json(const std::vector<Reached>& reached) {
  Json out = Json::array();
  for (const Reached& of : reached)
    out.push_back({of.low.epoch, of.low.index, of.reach.epoch, of.reach.index, of.ended});
  return out;
}

std::vector<Reached> reached_from(const Json& json) {
  std::vector<Reached> out;
  for (const Json& of : json) {
    const auto number = [&](std::size_t place) { return of.at(place).get<std::uint32_t>(); };
    out.push_back({{number(0), number(1)}, {number(2), number(3)}, of.at(4).get<bool>()});
  }
  return out;
}

}  // namespace

std::string to_text(const TrainSpec& spec) {
  const ModelSpec& m = spec.model;
  Json j = {{"model",
             {{"name", m.name},
              {"loss", static_cast<int>(m.loss)},
              {"rank", m.rank},
              {"fields", m.fields},
              {"fields_by_place", m.fields_by_place},
              {"init_scale", m.init_scale},
              {"seed", m.seed},
              {"score_shift", m.score_shift},
              {"inputs", m.inputs},
              {"classes", m.classes},
              {"script", m.script},
              {"hidden", m.hidden},
              {"layers", m.layers},
              {"width", m.width},
              {"heads", m.heads},
              {"weights", rule_json(m.weights)},
              {"bias_rate", m.bias_rate ? Json(*m.bias_rate) : Json(nullptr)},
              {"bias_init", m.bias_init},
              {"factors", rule_json(m.factors)},
              {"layers_rule", rule_json(m.layers_rule)}}},
            {"train", read_json(spec.train)},
            {"valid", read_json(spec.valid)},
            {"epochs", spec.epochs},
            {"batch_rows", spec.batch_rows},
            {"shards", spec.shards},
            {"algorithm", spec.algorithm},
            {"exchange", spec.exchange},
            {"mixing", spec.mixing},
            {"loads", spec.loads},
            {"loads_state", spec.loads_state},
            {"reached", reached_json(spec.reached)},
            {"shows_passes", spec.shows_passes},
            {"positive_weight", spec.positive_weight},
            {"kept_negatives", spec.kept_negatives},
            {"min_count", spec.min_count},
            {"count_width", spec.count_width},
            {"expire_after", spec.expire_after},
            {"script_hash", spec.script_hash},
            {"fields_from", spec.fields_from}};
  if (!spec.begins_with.empty()) j["begins_with"] = spec.begins_with;
  return j.dump();
}

Result<TrainSpec> train_spec_from_text(std::string_view text) {
  try {
    const Json j = Json::parse(text);
    TrainSpec spec;
    const Json& m = j.at("model");
    spec.model.name = m.at("name").get<std::string>();
    spec.model.loss = static_cast<Loss>(m.at("loss").get<int>());
    spec.model.rank = m.at("rank").get<std::uint32_t>();
    spec.model.fields = m.at("fields").get<std::uint32_t>();
    spec.model.fields_by_place = m.at("fields_by_place").get<bool>();
    spec.model.init_scale = m.at("init_scale").get<float>();
    spec.model.seed = m.at("seed").get<std::uint64_t>();
    spec.model.score_shift = m.at("score_shift").get<float>();
    spec.model.inputs = m.at("inputs").get<std::uint32_t>();
    spec.model.classes = m.at("classes").get<std::uint32_t>();
    spec.model.script = m.at("script").get<std::string>();
    spec.model.hidden = m.at("hidden").get<std::vector<std::uint32_t>>();
    spec.model.layers = m.at("layers").get<std::uint32_t>();
    spec.model.width = m.at("width").get<std::uint32_t>();
    spec.model.heads = m.at("heads").get<std::uint32_t>();
    spec.model.weights = rule_from(m.at("weights"));
    if (const Json& rate = m.at("bias_rate"); !rate.is_null()) spec.model.bias_rate = rate.get<float>();
    spec.model.bias_init = m.at("bias_init").get<float>();
    spec.model.factors = rule_from(m.at("factors"));
    spec.model.layers_rule = rule_from(m.at("layers_rule"));
    spec.train = read_from(j.at("train"));
    spec.valid = read_from(j.at("valid"));
    spec.epochs = j.at("epochs").get<std::uint32_t>();
    spec.batch_rows = j.at("batch_rows").get<std::uint32_t>();
    spec.shards = j.at("shards").get<std::uint32_t>();
    spec.algorithm = j.at("algorithm").get<std::string>();
    spec.exchange = j.at("exchange").get<std::string>();
    spec.mixing = j.at("mixing").get<std::vector<double>>();
    spec.loads = j.value("loads", false);
    spec.begins_with = j.value("begins_with", std::string());
    spec.reached = reached_from(j.value("reached", Json::array()));
    spec.shows_passes = j.value("shows_passes", false);
    spec.loads_state = j.value("loads_state", false);
    spec.positive_weight = j.at("positive_weight").get<float>();
    spec.kept_negatives = j.at("kept_negatives").get<float>();
    spec.min_count = j.at("min_count").get<std::uint32_t>();
    spec.expire_after = j.at("expire_after").get<std::uint32_t>();
    spec.count_width = j.at("count_width").get<std::uint64_t>();
    spec.script_hash = j.value("script_hash", std::string());
    spec.fields_from = j.value("fields_from", std::string());
    return spec;
  } catch (const Json::exception& error) {
    return Status(Code::kRefused, std::string("the scheduler's job cannot be read: ") + error.what());
  }
}

}  // namespace thalweg
