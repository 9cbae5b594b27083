#include "train/algorithm/algorithm.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <system_error>
#include <vector>

#include "base/word_list.h"

// A new algorithm is a file that defines it, and its line here.
#define THALWEG_ALGORITHMS(ALGORITHM) \
  ALGORITHM(kSyncAlgorithm)           \
  ALGORITHM(kBoundedAlgorithm)        \
  ALGORITHM(kAsyncAlgorithm)

namespace thalweg {

#define THALWEG_DECLARE_ALGORITHM(name) extern const Algorithm name;
THALWEG_ALGORITHMS(THALWEG_DECLARE_ALGORITHM)
#undef THALWEG_DECLARE_ALGORITHM

namespace {

#define THALWEG_LIST_ALGORITHM(name) &name,
constexpr const Algorithm* kAlgorithms[] = {THALWEG_ALGORITHMS(THALWEG_LIST_ALGORITHM)};
#undef THALWEG_LIST_ALGORITHM

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

std::optional<std::uint32_t> number_in(std::string_view text, const AlgorithmNumber& wanted) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < wanted.low || number > wanted.high) return std::nullopt;
  return number;
}

}  // namespace

std::span<const Algorithm* const> algorithms() { return kAlgorithms; }

std::string spelling(const Algorithm& algorithm) {
  if (algorithm.number == nullptr) return std::string(algorithm.name);
  return fmt::format("{}:{}", algorithm.name, algorithm.number->placeholder);
}

Result<ChosenAlgorithm> choose_algorithm(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const Algorithm* algorithm : kAlgorithms) {
    if (algorithm->name != name) continue;
    const AlgorithmNumber* const wanted = algorithm->number;
    if (wanted == nullptr) {
      if (colon != text.npos) return refused_algorithm(text, fmt::format("has a number; expected {}", name));
      return ChosenAlgorithm{algorithm, algorithm->consistency(0)};
    }
    const auto number = colon == text.npos ? std::nullopt : number_in(text.substr(colon + 1), *wanted);
    if (!number) {
      return refused_algorithm(
          text,
          fmt::format("is incomplete or out of range; expected {}, where {} is {}, a whole number "
                      "from {} to {}",
                      spelling(*algorithm), wanted->placeholder, wanted->summary, wanted->low, wanted->high));
    }
    return ChosenAlgorithm{algorithm, algorithm->consistency(*number)};
  }
  return unknown_algorithm(text);
}

std::string explain_algorithms() {
  std::string text;
  for (const Algorithm* algorithm : kAlgorithms) {
    text += fmt::format("{:<8}{}\n", spelling(*algorithm), algorithm->summary);
    const auto more = [&](std::string_view what, std::string_view line) {
      text += fmt::format("{:8}{}: {}\n", "", what, line);
    };
    if (const AlgorithmNumber* number = algorithm->number) {
      more(number->placeholder, fmt::format("{}, {} to {}", number->summary, number->low, number->high));
    }
    more("result", algorithm->result);
    more("--combine", algorithm->combines ? "may add up pushes on their way" : "makes no sense");
    more("paper", algorithm->paper);
  }
  return text;
}

}  // namespace thalweg
