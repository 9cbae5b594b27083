#include "cli/options/options.h"

#include "base/check.h"

namespace thalweg {

Options::Options() {
  for (const OptionRow& row : option_rows()) add(row);
}

Options::Options(const Command& command, std::span<const Command> commands) : Options() {
  command_ = &command, commands_ = commands;
  for (const OptionRow& row : command.own) add(row);
}

void Options::add(const OptionRow& row) {
  Entry& entry = entries_[row.name];
  if (row.type == OptionType::kFlag) entry.value = false;
  if (row.fallback.empty()) return;
  Result<OptionValue> value = parse_value(row, row.fallback);
  THALWEG_CHECK(value.ok(), "an option's default must be a value that it takes");
  entry.value = *std::move(value);
}

const Options::Entry& Options::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  THALWEG_CHECK(found != entries_.end(), "no such option in the table");
  return found->second;
}

template <class Value>
const Value& Options::get(std::string_view name) const {
  const auto* value = std::get_if<Value>(&entry(name).value);
  THALWEG_CHECK(value != nullptr, "option is unset or has another type");
  return *value;
}

template <class Value>
std::optional<Value> Options::maybe(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  return get<Value>(name);
}

std::vector<std::string> Options::texts(std::string_view name) const {
  std::vector<std::string> all;
  if (!has(name)) return all;
  for (const std::string_view text : split(this->text(name), '\n')) all.emplace_back(text);
  return all;
}

bool Options::flag(std::string_view name) const { return get<bool>(name); }
std::int64_t Options::integer(std::string_view name) const { return get<std::int64_t>(name); }
double Options::real(std::string_view name) const { return get<double>(name); }
std::chrono::nanoseconds Options::duration(std::string_view name) const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(real(name)));
}
const std::string& Options::text(std::string_view name) const { return get<std::string>(name); }
const Choice& Options::choice(std::string_view name) const { return get<Choice>(name); }
Interval Options::interval(std::string_view name) const { return get<Interval>(name); }

bool Options::has(std::string_view name) const {
  return !std::holds_alternative<std::monostate>(entry(name).value);
}
std::optional<std::int64_t> Options::maybe_integer(std::string_view name) const {
  return maybe<std::int64_t>(name);
}
std::optional<double> Options::maybe_real(std::string_view name) const { return maybe<double>(name); }
std::optional<std::string> Options::maybe_text(std::string_view name) const {
  return maybe<std::string>(name);
}
std::optional<Choice> Options::maybe_choice(std::string_view name) const { return maybe<Choice>(name); }

std::string Options::place(std::string_view name) const { return entry(name).place; }

void Options::assign(const OptionRow& row, OptionValue value, Origin origin, std::string place) {
  entries_[row.name] = {std::move(value), origin, std::move(place)};
}

void Options::forget(const OptionRow& row) {
  entries_.erase(row.name);
  add(row);
}

}  // namespace thalweg
