#include "train/checkpoint/job_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/rule_fields.h"
#include "data/read_options.h"
#include "model/loss.h"

namespace thalweg {
namespace {

using Json = nlohmann::json;

std::string by_number(const Json& value, std::span<const char* const> names) {
  const auto number = value.is_number_integer() ? value.get<std::size_t>() : names.size();
  return number < names.size() ? names[number] : value.dump();
}

std::string rule_of(const Json& value) { return by_number(value, kRuleNames); }

std::string loss_of(const Json& value) { return by_number(value, kLossNames); }

std::string order_of(const Json& value) {
  static constexpr std::array kOrders = {"off", "blocks", "rows"};
  return by_number(value, kOrders);
}

std::string kept_of(const Json& value) { return value == Json(true) ? "best" : "last"; }

std::string bad_rows_of(const Json& value) { return value == Json(0) ? "fail" : "skip:" + value.dump(); }

// With no more digits than a float has, where it is one.
std::string shown(const Json& value) {
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  const auto exact = value.get<double>();
  const auto rounded = static_cast<float>(exact);
  return static_cast<double>(rounded) < exact || static_cast<double>(rounded) > exact
             ? fmt::format("{}", exact)
             : fmt::format("{}", rounded);
}

struct Setting {
  std::string_view place;  // Of the job, and all below it.
  std::string_view flag;   // Empty: it has none, and follows from others.
  std::string (*text)(const Json&) = shown;
};

// In the order in which they are told.
constexpr Setting kSettings[] = {
    {"/begins_with", "--init"},
    {"/model/name", "--model"},
    {"/model/loss", "--loss", loss_of},
    {"/model/rank", "--rank"},
    {"/model/hidden", "--hidden"},
    {"/model/layers_rule/rate", "--layer-rate"},
    {"/model/layers_rule", ""},
    {"/model/layers", "--layers"},
    {"/model/width", "--width"},
    {"/model/heads", "--heads"},
    {"/model/seed", "--seed"},
    {"/model/init_scale", "--init-scale"},
    {"/model/weights/kind", "--optimizer", rule_of},
    {"/model/weights/rate", "--rate"},
    {"/model/weights/l1", "--l1"},
    {"/model/weights/l2", "--l2"},
    {"/model/factors/kind", "--factor-optimizer", rule_of},
    {"/model/factors/rate", "--factor-rate"},
    {"/model/factors/l2", "--factor-l2"},
    {"/batch_rows", "--batch"},
    {"/shards", "--data-shards"},
    {"/algorithm", "--algorithm"},
    {"/exchange", "--exchange"},
    {"/mixing", ""},
    {"/shows_passes", "--keep", kept_of},
    {"/positive_weight", "--pos-weight"},
    {"/kept_negatives", "--negative-sample"},
    {"/min_count", "--min-count"},
    {"/count_width", ""},
    {"/expire_after", "--expire-after"},
    {"/train/format", "--format"},
    {"/train/hash_bits", "--hash-bits"},
    {"/train/interactions", "--interactions"},
    {"/train/columns", "--columns"},
    {"/train/label_column", "--label-column"},
    {"/train/weight_column", "--weight-column"},
    {"/train/context", "--context"},
    {"/train/order", "--shuffle", order_of},
    {"/train/part_modulus", "--valid-part"},
    {"/train/text_parts", "--valid-part"},
    {"/train/part", "--valid-part", [](const Json&) { return std::string(); }},
    {"/train/text_part", "--valid-part", [](const Json&) { return std::string(); }},
    {"/model/inputs", "--inputs"},
    {"/model/classes", "--classes"},
    {"/model/fields", "--fields"},
    {"/model/bias_rate", "--bias-rate"},
    {"/model", ""},
    {"/train/max_bad_rows", "--on-bad-row", bad_rows_of},
    {"/train", ""},
    {"/valid/binary_labels", "--valid", [](const Json&) { return std::string(); }},
    {"/valid", ""},
    {"/script_hash", ""},
};

const Setting* setting_at(std::string_view place) {
  const auto* const found = std::ranges::find_if(kSettings, [place](const Setting& setting) {
    return place == setting.place || (place.starts_with(setting.place) && place[setting.place.size()] == '/');
  });
  return found == std::end(kSettings) ? nullptr : found;
}

// What is chosen for another setting where nobody says it, so that it differs wherever that does.
bool follows(const Setting* setting) {
  constexpr std::string_view kChosen[] = {"",         "--bias-rate",   "--inputs",           "--classes",
                                          "--fields", "--factor-rate", "--factor-optimizer", "--valid"};
  return setting != nullptr && std::ranges::find(kChosen, setting->flag) != std::end(kChosen);
}

struct Difference {
  const Setting* setting = nullptr;  // Null: it is none of those above.
  std::string name, text;
};

// As it is shown, so that numbers that a float cannot tell apart are alike.
std::string text_at(const Json& job, const std::string& place, std::string (*text)(const Json&) = shown) {
  return job.contains(place) ? text(job[place]) : "nothing";
}

Difference difference_at(const std::string& place, const Json& before, const Json& now) {
  Difference out{setting_at(place), {}, {}};
  const bool by_flag = out.setting != nullptr && !out.setting->flag.empty();
  out.name = by_flag ? std::string(out.setting->flag) : place.substr(1);
  if (!by_flag) std::ranges::replace(out.name, '/', '.');
  const auto text = by_flag ? out.setting->text : shown;
  const std::string here = text_at(now, place, text);
  out.text = here.empty() ? out.name + " differs"
                          : fmt::format("{} is {}, there {}", out.name, here, text_at(before, place, text));
  return out;
}

}  // namespace

std::string job_differences(const Json& there, const Json& here) {
  const Json before = there.flatten(), now = here.flatten();
  std::vector<Difference> all;
  const auto add = [&](const std::string& place) {
    if (text_at(before, place) != text_at(now, place)) all.push_back(difference_at(place, before, now));
  };
  for (const auto& item : now.items()) add(item.key());
  for (const auto& item : before.items()) {
    if (!now.contains(item.key())) add(item.key());
  }
  std::ranges::stable_sort(all, {}, [](const Difference& one) {
    return one.setting == nullptr ? std::end(kSettings) : one.setting;
  });
  std::string out;
  std::vector<std::string> told;
  for (const Difference& one : all) {
    if (std::ranges::find(told, one.name) != told.end() || (!told.empty() && follows(one.setting))) continue;
    told.push_back(one.name);
    out += (out.empty() ? "" : "; ") + one.text;
  }
  return out;
}

}  // namespace thalweg
