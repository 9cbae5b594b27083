#include "train/algorithm/algorithm.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/check.h"
#include "base/word_list.h"
#include "client/replica/replica_algorithm.h"

// A new algorithm is a file that defines it, and its line here.
#define THALWEG_ALGORITHMS(ALGORITHM) \
  ALGORITHM(kSyncAlgorithm)           \
  ALGORITHM(kBoundedAlgorithm)        \
  ALGORITHM(kMaxWaitAlgorithm)        \
  ALGORITHM(kAsyncAlgorithm)          \
  ALGORITHM(kSoftsyncAlgorithm)       \
  ALGORITHM(kRudraAlgorithm)          \
  ALGORITHM(kRudraAdvAlgorithm)       \
  ALGORITHM(kRudraAdvStarAlgorithm)   \
  ALGORITHM(kBackupAlgorithm)         \
  ALGORITHM(kDownpourAlgorithm)       \
  ALGORITHM(kElasticAlgorithm)        \
  ALGORITHM(kCompensatedAlgorithm)    \
  ALGORITHM(kCompensatedAAlgorithm)   \
  ALGORITHM(kLocalAlgorithm)          \
  ALGORITHM(kFederatedAlgorithm)      \
  ALGORITHM(kGossipAlgorithm)         \
  ALGORITHM(kPairsAlgorithm)

namespace thalweg {

#define THALWEG_DECLARE_ALGORITHM(name) extern const Algorithm name;
THALWEG_ALGORITHMS(THALWEG_DECLARE_ALGORITHM)
#undef THALWEG_DECLARE_ALGORITHM

namespace {

#define THALWEG_LIST_ALGORITHM(name) &name,
constexpr const Algorithm* kAlgorithms[] = {THALWEG_ALGORITHMS(THALWEG_LIST_ALGORITHM)};
#undef THALWEG_LIST_ALGORITHM

}  // namespace

namespace {

// A quotient of whole numbers, by which 10us are 1e-5 to the last bit; times 1e-6 they are not.
struct TimeUnit {
  std::string_view name;
  double seconds, parts;
};
// Longest first.
constexpr TimeUnit kTimeUnits[] = {{"h", 3600, 1}, {"min", 60, 1}, {"m", 60, 1},
                                   {"s", 1, 1},    {"ms", 1, 1e3}, {"us", 1, 1e6}};

Status refused_algorithm(std::string_view text, const std::string& why) {
  return {Code::kUsage,
          fmt::format("--algorithm '{}' {}\nhint: thalweg train --algorithm help tells of each", text, why)};
}

Status unknown_algorithm(std::string_view text) {
  std::vector<std::string> spellings;
  for (const Algorithm* algorithm : kAlgorithms) spellings.push_back(spelling(*algorithm));
  const std::vector<std::string_view> words(spellings.begin(), spellings.end());
  return refused_algorithm(text, "is unknown; expected " + any_of_words(words));
}

std::string seconds_text(double seconds) {
  for (const TimeUnit& unit : kTimeUnits) {
    const double count = seconds * unit.parts / unit.seconds;
    if (count >= 1) return fmt::format("{:g}{}", count, unit.name);
  }
  return {};
}

std::string range_of(const AlgorithmNumber& number) {
  if (number.time)
    return fmt::format("time from {} to {}", seconds_text(number.low), seconds_text(number.high));
  return fmt::format("{}number from {} to {}", number.whole ? "whole " : "", number.low, number.high);
}

std::string_view name_of(const AlgorithmNumber& number) {
  return number.name.empty() ? number.placeholder : number.name;
}

std::string expected(const Algorithm& algorithm) {
  std::string text = "expected " + spelling(algorithm);
  const char* joint = ", where ";
  for (const AlgorithmNumber& number : algorithm.numbers) {
    text += fmt::format("{}{} is {}, a {}", joint, name_of(number), number.summary, range_of(number));
    joint = "; ";
  }
  return text;
}

std::optional<double> plain_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Seconds, if a unit follows.
std::optional<double> time_in(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789.eE+-"), text.size());
  const auto number = plain_number(text.substr(0, digits));
  for (const TimeUnit& unit : kTimeUnits) {
    if (number && text.substr(digits) == unit.name) return *number * unit.seconds / unit.parts;
  }
  return std::nullopt;
}

std::optional<double> number_in(std::string_view text, const AlgorithmNumber& wanted) {
  const auto number = wanted.time ? time_in(text) : plain_number(text);
  if (!number || !(*number >= wanted.low && *number <= wanted.high)) return std::nullopt;
  if (wanted.whole && !wanted.time && *number != std::floor(*number)) return std::nullopt;
  return number;
}

// Takes "name=value", or the value of the number that has no name.
bool take_part(std::string_view part, std::span<const AlgorithmNumber> wanted, AlgorithmValues& values) {
  const std::size_t equals = part.find('=');
  const std::string_view name = equals == part.npos ? std::string_view() : part.substr(0, equals);
  for (const AlgorithmNumber& number : wanted) {
    if (number.name != name) continue;
    const bool again = std::any_of(values.numbers.begin(), values.numbers.end(),
                                   [&](const auto& value) { return value.first == name; });
    const auto value = number_in(equals == part.npos ? part : part.substr(equals + 1), number);
    if (again || !value) return false;
    values.numbers.emplace_back(number.name, *value);
    return true;
  }
  return false;
}

bool take_parts(std::string_view text, std::span<const AlgorithmNumber> wanted, AlgorithmValues& values) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    if (!take_part(text.substr(at, comma - at), wanted, values)) return false;
    at = comma + 1;
  }
  return true;
}

bool fill_in(std::span<const AlgorithmNumber> wanted, AlgorithmValues& values) {
  for (const AlgorithmNumber& number : wanted) {
    const bool given = std::any_of(values.numbers.begin(), values.numbers.end(),
                                   [&](const auto& value) { return value.first == number.name; });
    if (given) continue;
    if (!number.fallback) return false;
    values.numbers.emplace_back(number.name, *number.fallback);
  }
  return true;
}

Result<ChosenAlgorithm> chosen(const Algorithm& algorithm, std::string_view text, std::size_t colon) {
  ChosenAlgorithm made{&algorithm, {}, {}};
  const bool has_more = colon != text.npos;
  const std::string_view more = has_more ? text.substr(colon + 1) : std::string_view();
  if (has_more && algorithm.numbers.empty() && algorithm.word.empty()) {
    return refused_algorithm(text, fmt::format("has nothing to set; expected {}", algorithm.name));
  }
  if (!algorithm.word.empty()) {
    made.values.word = has_more ? more : algorithm.word_unsaid;
    if (made.values.word.empty()) return refused_algorithm(text, "is incomplete; " + expected(algorithm));
  } else if ((has_more && !take_parts(more, algorithm.numbers, made.values)) ||
             !fill_in(algorithm.numbers, made.values)) {
    return refused_algorithm(text, "is incomplete or out of range; " + expected(algorithm));
  }
  made.consistency = algorithm.consistency(made.values);
  return made;
}

}  // namespace

double AlgorithmValues::operator[](std::string_view name) const {
  for (const auto& [known, value] : numbers) {
    if (known == name) return value;
  }
  THALWEG_CHECK(false, "a number that the algorithm has");
  return 0;
}

std::span<const Algorithm* const> algorithms() { return kAlgorithms; }

std::string spelling(const Algorithm& algorithm) {
  std::string text(algorithm.name);
  if (!algorithm.word.empty()) {
    const bool may_be_left_out = !algorithm.word_unsaid.empty();
    return fmt::format("{}{}:{}{}", text, may_be_left_out ? "[" : "", algorithm.word,
                       may_be_left_out ? "]" : "");
  }
  char joint = ':';
  for (const AlgorithmNumber& number : algorithm.numbers) {
    text += fmt::format("{}{}{}{}", joint, number.name, number.name.empty() ? "" : "=", number.placeholder);
    joint = ',';
  }
  return text;
}

Result<ChosenAlgorithm> choose_algorithm(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const Algorithm* algorithm : kAlgorithms) {
    if (algorithm->name == name) return chosen(*algorithm, text, colon);
  }
  return unknown_algorithm(text);
}

std::string explain_algorithms() {
  std::string text;
  for (const Algorithm* algorithm : kAlgorithms) {
    text += fmt::format("{:<12}{}{}\n", spelling(*algorithm), spelling(*algorithm).size() < 12 ? "" : "  ",
                        algorithm->summary);
    const auto more = [&](std::string_view what, std::string_view line) {
      text += fmt::format("{:12}{}: {}\n", "", what, line);
    };
    if (!algorithm->word_unsaid.empty()) more("graph", fmt::format("unset is {}", algorithm->word_unsaid));
    for (const AlgorithmNumber& number : algorithm->numbers) {
      std::string line = number.time ? fmt::format("{}, a {}", number.summary, range_of(number))
                                     : fmt::format("{}, {} to {}", number.summary, number.low, number.high);
      if (number.fallback) line += fmt::format("; unset is {:g}", *number.fallback);
      more(name_of(number), line);
    }
    more("result", algorithm->result);
    more("--combine", algorithm->combines    ? "may add up pushes on their way"
                      : algorithm->combining ? "is tree:K as said here"
                                             : "makes no sense");
    more("--exchange", algorithm->group == Algorithm::Group::kUnused ? "makes no sense"
                       : algorithm->group == Algorithm::Group::kIfAsked
                           ? "may take the servers' place; dense:ROUTE of dense tables alone"
                           : "by any route but servers");
    if (algorithm->one_server) more("--servers", "1");
    more("paper", algorithm->paper);
  }
  return text;
}

}  // namespace thalweg
