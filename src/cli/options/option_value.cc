#include "cli/options/option_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/options/suggest.h"

namespace thalweg {
namespace {

template <class Number>
std::optional<Number> to_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

template <class Number>
bool in_range(const OptionRow& row, Number number) {
  const auto value = static_cast<double>(number);
  return std::isfinite(value) && value >= row.low && value <= row.high;
}

std::optional<bool> to_flag(std::string_view text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return std::nullopt;
}

std::optional<double> to_seconds(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789.eE+-"), text.size());
  const auto number = to_number<double>(text.substr(0, digits));
  if (!number) return std::nullopt;
  const std::string_view unit = text.substr(digits);
  if (unit.empty() || unit == "s") return *number;
  if (unit == "ms") return *number / 1e3;
  if (unit == "m" || unit == "min") return *number * 60;
  if (unit == "h") return *number * 3600;
  return std::nullopt;
}

constexpr std::string_view kFile = "FILE";

std::optional<Choice> to_choice(const OptionRow& row, std::string_view text) {
  for (const std::string_view choice : split(choices_of(row), '|')) {
    if (choice == text && choice.find(':') == choice.npos) return Choice{std::string(text), std::nullopt};
    const std::size_t colon = choice.find(':');
    if (colon == choice.npos || text.substr(0, colon + 1) != choice.substr(0, colon + 1)) continue;
    const bool of_text = choice.substr(colon + 1) == kFile;
    if (of_text && text.size() > colon + 1)
      return Choice{std::string(text.substr(0, colon)), std::nullopt, std::string(text.substr(colon + 1))};
    const auto number = to_number<std::int64_t>(text.substr(colon + 1));
    if (number && in_range(row, *number)) return Choice{std::string(text.substr(0, colon)), number};
  }
  return std::nullopt;
}

std::optional<Interval> to_interval(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const auto begin = to_number<std::int64_t>(text.substr(0, colon));
  const auto end = to_number<std::int64_t>(text.substr(colon + 1));
  if (!begin || !end || *begin < 0 || *end < *begin) return std::nullopt;
  return Interval{*begin, *end};
}

bool are_ints(const OptionRow& row, std::string_view text) {
  const auto words = split(text, ',');
  return std::all_of(words.begin(), words.end(), [&](std::string_view word) {
    const auto number = to_number<std::int64_t>(word);
    return number && in_range(row, *number);
  });
}

template <class Value>
OptionValue or_nothing(const std::optional<Value>& value) {
  return value ? OptionValue(*value) : OptionValue();
}

OptionValue convert(const OptionRow& row, std::string_view text) {
  switch (row.type) {
    case OptionType::kFlag:
      return or_nothing(to_flag(text));
    case OptionType::kInt: {
      const auto number = to_number<std::int64_t>(text);
      return number && in_range(row, *number) ? OptionValue(*number) : OptionValue();
    }
    case OptionType::kReal: {
      const auto number = to_number<double>(text);
      return number && in_range(row, *number) ? OptionValue(*number) : OptionValue();
    }
    case OptionType::kDuration: {
      const auto number = to_seconds(text);
      return number && in_range(row, *number) ? OptionValue(*number) : OptionValue();
    }
    case OptionType::kText:
      return (text.empty() && !row.may_be_empty) || text.find('\0') != text.npos
                 ? OptionValue()
                 : OptionValue(std::string(text));
    case OptionType::kChoice:
      return or_nothing(to_choice(row, text));
    case OptionType::kInterval:
      return or_nothing(to_interval(text));
    case OptionType::kInts:
      return are_ints(row, text) ? OptionValue(std::string(text)) : OptionValue();
  }
  return {};
}

std::string range_text(const OptionRow& row) {
  if (row.high >= 1e18) return row.low == 0 ? "of at least 0" : fmt::format("of at least {}", row.low);
  const bool whole = row.type != OptionType::kReal && row.type != OptionType::kDuration;
  const auto bound = [&](double value) {
    return whole ? fmt::format("{}", static_cast<std::int64_t>(value)) : fmt::format("{}", value);
  };
  return fmt::format("from {} to {}", bound(row.low), bound(row.high));
}

std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
}

}  // namespace

std::string expectation(const OptionRow& row) {
  switch (row.type) {
    case OptionType::kFlag:
      return "true or false";
    case OptionType::kInt:
      return fmt::format("a whole number {}, such as {}", range_text(row), row.example);
    case OptionType::kReal:
      return fmt::format("a number {}, such as {}", range_text(row), row.example);
    case OptionType::kDuration:
      return fmt::format("seconds, or a number with the unit ms, s, m or h, {} seconds, such as {}",
                         range_text(row), row.example);
    case OptionType::kText:
      return fmt::format("a text, such as {}", row.example);
    case OptionType::kChoice: {
      std::size_t number = choices_of(row).find(':');
      if (number != std::string_view::npos && choices_of(row).substr(number + 1, kFile.size()) == kFile)
        number = std::string_view::npos;
      return fmt::format(
          "{}{}{}", split(choices_of(row), '|').size() > 1 ? "one of " : "", choices_of(row),
          number == std::string_view::npos
              ? ""
              : fmt::format(", {} {}", choices_of(row).substr(number + 1, 1), range_text(row)));
    }
    case OptionType::kInterval:
      return fmt::format("A:B with 0 <= A <= B, such as {}", row.example);
    case OptionType::kInts:
      return fmt::format("whole numbers {} with commas between, such as {}", range_text(row), row.example);
  }
  return {};
}

Result<OptionValue> parse_value(const OptionRow& row, std::string_view text) {
  OptionValue value = convert(row, text);
  if (!std::holds_alternative<std::monostate>(value)) return value;
  std::string message = fmt::format("'{}' is not {}", shown(text), expectation(row));
  if (row.type == OptionType::kChoice) {
    const auto near = nearest(text, split(choices_of(row), '|'));
    const bool placeholder = near.find(':') != near.npos;
    if (!near.empty() && !placeholder) message += fmt::format("\nhint: did you mean '{}'?", near);
  }
  return Status(Code::kUsage, std::move(message));
}

std::string value_text(const OptionValue& value) {
  struct {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const Choice& choice) const {
      if (!choice.text.empty()) return fmt::format("{}:{}", choice.word, choice.text);
      return choice.number ? fmt::format("{}:{}", choice.word, *choice.number) : choice.word;
    }
    std::string operator()(const Interval& pair) const {
      return fmt::format("{}:{}", pair.first, pair.second);
    }
  } write;
  return std::visit(write, value);
}

}  // namespace thalweg
