#include "data/column/column_guess.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "data/column/cell_sample.h"
#include "data/column/column_items.h"
#include "data/column/member_kinds.h"
#include "data/column/number_form.h"
#include "data/column/number_moments.h"
#include "data/reader/json_members.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

using Kind = Column::Kind;
using Shape = NumberForm::Shape;
using Seen = CellSample::Seen;
constexpr std::uint64_t kRowsEnough = 100;  // For what rows have in common to mean something.

// The sum of squared errors of the best line through (x, label).
double line_errors(const std::vector<Seen>& seen, double (*x_of)(double)) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (const Seen& s : seen) {
    const double v = x_of(s.number) - x_of(seen.front().number);
    n += 1, x += v, y += s.label, xx += v * v, xy += v * s.label, yy += s.label * s.label;
  }
  const double sxx = xx - x * x / n, sxy = xy - x * y / n, syy = yy - y * y / n;
  return sxx > 0 ? syy - sxy * sxy / sxx : syy;
}

// Whether labels follow single numbers rather than a line through them or their logarithms.
bool lacks_order(const CellSample& sample) {
  constexpr double kDeviations = 6;
  const double n = static_cast<double>(sample.seen.size()), k = static_cast<double>(sample.distinct);
  if (k < 3 || n < 5 * k || n < kRowsEnough) return false;
  std::vector<Seen> sorted = sample.seen;
  std::sort(sorted.begin(), sorted.end(), [](const Seen& a, const Seen& b) {
    return std::pair(a.hash, a.label) < std::pair(b.hash, b.label);
  });
  double within = 0;
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const auto end = std::find_if(begin, sorted.end(), [&](const Seen& s) { return s.hash != begin->hash; });
    double sum = 0, squares = 0;
    for (auto s = begin; s != end; ++s) sum += s->label, squares += s->label * s->label;
    within += squares - sum * sum / static_cast<double>(end - begin);
    begin = end;
  }
  const double line = std::min(line_errors(sample.seen, [](double v) { return v; }),
                               line_errors(sample.seen, [](double v) { return std::log1p(std::abs(v)); }));
  const double f = ((line - within) / (k - 2)) / std::max(within / (n - k), 1e-9);
  return f > 1 + kDeviations * std::sqrt(2 / (k - 2) + 2 / (n - k));
}

// Numbers that range over less than they are from 0, such as 1950 to 2020.
bool differ_little(const CellSample& sample) {
  const double size = std::min(std::abs(sample.smallest), std::abs(sample.largest));
  const bool one_sign = (sample.smallest > 0) == (sample.largest > 0);
  return one_sign && sample.distinct > 2 && sample.largest - sample.smallest < size;
}

// Why a column of numbers is one of categories, or of nothing; empty: it is neither.
void guess_kind(const CellSample& sample, Column& column) {
  const auto set = [&](Kind kind, std::string why) {
    column.kind = kind;
    column.facts.why = std::move(why);
  };
  const std::uint64_t cells = sample.seen.size();
  const bool number = column.kind == Kind::kNumeric;
  const bool whole = sample.whole == cells;
  const bool unique = sample.distinct == sample.rows && sample.rows >= kRowsEnough;
  const bool id = name_says_id(column.name);
  if (unique && (!number || (whole && (id || sample.increasing)))) {
    return set(Kind::kIgnored, fmt::format("differs in each of {} rows", sample.rows));
  }
  if (!number || cells == 0) return;
  if (sample.numbers + cells / 100 < cells) return set(Kind::kCategorical, "many cells are no numbers");
  if (id && sample.whole == sample.numbers)
    return set(Kind::kCategorical, "whole numbers, and the name says ids");
  if (!whole) return;
  const bool repeats = 5 * sample.distinct <= cells;
  if (repeats && differ_little(sample) && cells >= kRowsEnough) {
    return set(Kind::kCategorical, "whole numbers that differ little beside their size");
  }
  if (repeats && lacks_order(sample)) {
    return set(Kind::kCategorical, "whole numbers whose order the labels do not follow");
  }
}

double mean_size(std::span<const double> numbers, Shape shape) {
  double sizes = 0, not_zero = 0;
  for (const double number : numbers) sizes += size_of_number(number, shape), not_zero += number != 0 ? 1 : 0;
  return not_zero == 0 ? 0 : sizes / not_zero;
}

// All, or, where some such as 9999999999 stand for something else and make up nearly all of the mean size,
// all but the largest hundredth of those that are not 0.
std::vector<double> usual_numbers(const CellSample& sample, Shape shape) {
  constexpr std::uint64_t kLeftOutPart = 100;
  constexpr double kTimesTooMuch = 10;
  std::vector<double> numbers;
  for (const Seen& seen : sample.seen) {
    if (!std::isnan(seen.number)) numbers.push_back(seen.number);
  }
  const std::size_t kept = numbers.size() - static_cast<std::size_t>(sample.not_zero / kLeftOutPart);
  const auto by_size = [](double a, double b) { return std::abs(a) < std::abs(b); };
  std::nth_element(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(kept), numbers.end(),
                   by_size);
  const double of_kept = mean_size(std::span(numbers).first(kept), shape);
  if (mean_size(numbers, shape) > kTimesTooMuch * of_kept && of_kept > 0) numbers.resize(kept);
  return numbers;
}

// By the mean size of those that are not 0; of numbers that are far from 0 by the standard deviation, from
// their mean. Zeros and ones stay as they are.
NumberForm form_for(const CellSample& sample, Shape shape) {
  NumberForm form{shape, 0, 1};
  const std::vector<double> numbers = usual_numbers(sample, shape);
  NumberMoments moments;
  for (const double number : numbers) moments.add(number);
  double size = mean_size(numbers, shape);
  form.open = sample.not_zero == 0;
  if (shape == Shape::kLinear && sample.distinct > 2 &&
      are_far_from_zero(moments.mean(), moments.standard_deviation(), kDoubleRounding)) {
    form.offset = offset_of(moments.mean(), moments.standard_deviation());
    size = moments.standard_deviation();
  }
  const float scale = rounded_to_digits(size, kScaleDigits);
  if (std::isnormal(scale)) form.scale = scale;
  return form;
}

void guess_column(const CellSample& sample, Column& column) {
  column.facts.rows = sample.rows;
  column.facts.missing = sample.rows - sample.seen.size();
  column.facts.distinct = sample.distinct;
  column.facts.numbers = sample.numbers == sample.seen.size() && sample.numbers > 0;
  column.facts.smallest = sample.smallest, column.facts.largest = sample.largest;
  if (is_feature(column) && !column.kind_told) guess_kind(sample, column);
}

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_large(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The name's last word, in small letters: "id" of "userId" and of "user_id".
std::string last_word(std::string_view name) {
  std::string word;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool letter = is_small(c) || is_large(c) || is_digit(c);
    if (!letter || (is_large(c) && i > 0 && is_small(name[i - 1]))) word.clear();
    if (letter) word += is_large(c) ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return word;
}

}  // namespace

bool name_says_id(std::string_view name) {
  static constexpr std::array<std::string_view, 40> kThings = {
      "user",     "item",      "movie",    "product", "ad",     "advert", "advertiser", "campaign",
      "creative", "publisher", "site",     "app",     "device", "page",   "query",      "session",
      "customer", "client",    "account",  "shop",    "store",  "seller", "brand",      "category",
      "zip",      "zipcode",   "postcode", "type",    "code",   "sku",    "isbn",       "ip",
      "hash",     "uuid",      "guid",     "uid",     "id",     "ids",    "book",       "song"};
  const auto is_thing = [&](std::string_view word) {
    return std::find(kThings.begin(), kThings.end(), word) != kThings.end();
  };
  const std::string word = last_word(name);
  if (is_thing(word)) return true;
  if (word.ends_with("id") && is_thing(std::string_view(word).substr(0, word.size() - 2))) return true;
  const bool one_letter = name.size() > 1 && (name[0] == 'C' || name[0] == 'c');
  return one_letter && std::all_of(name.begin() + 1, name.end(), is_digit);
}

void guess_columns(std::string_view rows, bool choose_scales, Columns& columns) {
  const std::vector<CellSample> samples = sample_cells(rows, columns);
  for (std::size_t c = 0; c < samples.size(); ++c) {
    Column& column = columns.list[c];
    guess_column(samples[c], column);
    if (column.kind != Kind::kNumeric || column.number_told || !choose_scales) continue;
    if (column.number.shape == Shape::kBucket) continue;
    column.number = form_for(samples[c], column.number.shape);
    if (column.number.open) column.facts.why = "no number but 0 yet, so that its scale is open";
  }
  number_columns(columns);
}

Columns guess_members(std::string_view rows, const ReadOptions& options, const MemberKinds& kinds) {
  Columns members;
  const std::vector<CellSample> samples = sample_members(rows, options, kinds, members);
  for (std::size_t c = 0; c < samples.size(); ++c) guess_column(samples[c], members.list[c]);
  return members;
}

Result<Columns> new_members(std::string_view rows, const ReadOptions& options, Columns members) {
  const RowRules rules(options);
  std::map<std::string, std::unordered_set<Key>, std::less<>> keys;  // By member.
  for (const Column& c : members.list) keys[c.name].insert(rules.key(column_salt(c.name)));
  const char* const end = rows.data() + rows.size();
  for (const char* p = rows.data(); p != end; p = line_end(p, end) + 1) {
    visit_json_scalars(p, [&](const JsonScalar& s) {
      const auto of = keys.find(s.path);
      if (of == keys.end() || s.kind == JsonScalar::Kind::kNull) return;
      of->second.insert(rules.key(category_key(s.text, column_salt(s.path))));
    });
  }
  std::unordered_set<Key> all;
  for (const auto& [name, of] : keys) all.insert(of.begin(), of.end());
  const auto learnt = options.learnt(all);
  if (!learnt) return learnt.status();
  std::erase_if(members.list, [&](const Column& c) {
    const auto& of = keys[c.name];
    return std::any_of(of.begin(), of.end(), [&](Key key) { return learnt->contains(key); });
  });
  return members;
}

std::string guessed_items(const Columns& members) {
  std::string text;
  for (const Column& c : members.list) {
    if (c.kind_told || c.facts.why.empty()) continue;
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", quoted_column_name(c.name), column_kind_text(c));
  }
  return text;
}

}  // namespace thalweg
