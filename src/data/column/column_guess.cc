#include "data/column/column_guess.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "data/column/number_form.h"
#include "data/reader/cell_words.h"
#include "data/reader/number.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

using Kind = Column::Kind;
using Shape = NumberForm::Shape;
constexpr std::uint64_t kRowsEnough = 100;  // For what rows have in common to mean something.

// A cell as its column's rows are compared.
struct Seen {
  std::uint64_t hash;
  double number;  // NaN: it is none.
  double label;
};

// What is gathered of a column.
struct Sample {
  std::vector<Seen> seen;  // In the rows' order, but for missing cells.
  std::uint64_t rows = 0, numbers = 0, whole = 0, distinct = 0;
  double smallest = 0, largest = 0;
  double sizes = 0;  // The sum of all sizes.
  std::uint64_t not_zero = 0;
  bool increasing = true;

  void add_number(double v) {
    if (numbers++ == 0) smallest = largest = v;
    if (numbers > 1 && v <= last) increasing = false;
    last = v;
    smallest = std::min(smallest, v), largest = std::max(largest, v);
    whole += v == std::floor(v) ? 1 : 0;
  }
  double last = 0;
};

bool read_number(std::string_view cell, float& value) {
  return parse_real(cell.data(), cell.data() + cell.size(), value) == cell.data() + cell.size();
}

double size_of(double number, Shape shape) {
  return std::abs(shape == Shape::kLog ? std::log1p(std::abs(number)) : number);
}

void take_cell(std::string_view cell, double label, Shape shape, Sample& sample) {
  ++sample.rows;
  cell = trimmed(cell);
  if (cell.empty() || says_missing(cell)) return;
  Seen seen{XXH3_64bits(cell.data(), cell.size()), std::nan(""), label};
  float value = 0;
  if (read_number(cell, value)) {
    seen.number = value;
    sample.add_number(value);
    const double size = size_of(seen.number, shape);
    sample.sizes += size;
    sample.not_zero += size != 0 ? 1 : 0;
  }
  sample.seen.push_back(seen);
}

double label_of(std::string_view cell) {
  float value = 0;
  cell = trimmed(cell);
  if (!cell.empty() && read_number(cell, value)) return value;
  return truth_of(cell).value_or(0.0f);
}

std::vector<Sample> take_samples(std::string_view rows, const Columns& columns) {
  std::vector<Sample> samples(columns.list.size());
  std::vector<std::string> scratch(columns.list.size());
  std::vector<std::string_view> cells(columns.list.size());
  const char* const end = rows.data() + rows.size();
  for (const char* p = rows.data(); p != end;) {
    const char* const next = line_end(p, end) + 1;
    const std::string_view line(p, static_cast<std::size_t>(next - p));
    bool good = is_row(p, false) && !(columns.header && line == columns.header_line);
    double label = 0;
    for (std::size_t c = 0; c < cells.size() && good; ++c) {
      good = next_cell(p, columns.separator, cells[c], scratch[c]) && (*p == '\n') == (c + 1 == cells.size());
      if (good && columns.list[c].kind == Kind::kLabel) label = label_of(cells[c]);
      ++p;
    }
    for (std::size_t c = 0; c < cells.size() && good; ++c) {
      take_cell(cells[c], label, columns.list[c].number.shape, samples[c]);
    }
    p = next;
  }
  for (Sample& sample : samples) {
    std::vector<std::uint64_t> hashes;
    for (const Seen& seen : sample.seen) hashes.push_back(seen.hash);
    std::sort(hashes.begin(), hashes.end());
    sample.distinct = static_cast<std::uint64_t>(std::unique(hashes.begin(), hashes.end()) - hashes.begin());
  }
  return samples;
}

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
bool lacks_order(const Sample& sample) {
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

// Numbers that are far from 0 beside how much they differ, such as 1950 to 2020: times a weight they tell
// little.
bool is_far_from_zero(const Sample& sample) {
  const double size = std::min(std::abs(sample.smallest), std::abs(sample.largest));
  const bool one_sign = (sample.smallest > 0) == (sample.largest > 0);
  return one_sign && sample.distinct > 2 && sample.largest - sample.smallest < size;
}

// Why a column of numbers is one of categories, or of nothing; empty: it is neither.
void guess_kind(const Sample& sample, Column& column) {
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
  if (!whole) return;
  if (id) return set(Kind::kCategorical, "whole numbers, and the name says ids");
  const bool repeats = 5 * sample.distinct <= cells;
  if (repeats && is_far_from_zero(sample) && cells >= kRowsEnough) {
    return set(Kind::kCategorical, "whole numbers that differ little beside their size");
  }
  if (repeats && lacks_order(sample)) {
    return set(Kind::kCategorical, "whole numbers whose order the labels do not follow");
  }
}

// The mean of those that are not 0, or, where some such as 9999999999 stand for something else and make up
// nearly all of that, of all but the largest hundredth.
double mean_size(const Sample& sample, Shape shape) {
  constexpr std::size_t kLeftOutPart = 100;
  constexpr double kTimesTooMuch = 10;
  const double mean = sample.sizes / static_cast<double>(sample.not_zero);
  std::vector<double> sizes;
  for (const Seen& seen : sample.seen) {
    const double size = size_of(seen.number, shape);
    if (size > 0) sizes.push_back(size);
  }
  const std::size_t kept = sizes.size() - sizes.size() / kLeftOutPart;
  if (kept == sizes.size()) return mean;
  std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(kept), sizes.end());
  sizes.resize(kept);
  const double of_kept = std::accumulate(sizes.begin(), sizes.end(), 0.0) / static_cast<double>(kept);
  return mean > kTimesTooMuch * of_kept ? of_kept : mean;
}

// The mean size, from the mean if all are far from 0. To three digits, so that a column times 10 has ten
// times the scale.
NumberForm form_for(const Sample& sample, Shape shape) {
  constexpr int kOffsetDigits = 6, kScaleDigits = 3;
  NumberForm form{shape, 0, 1};
  if (sample.not_zero == 0) return form;
  double size = mean_size(sample, shape);
  if (shape == Shape::kLinear && is_far_from_zero(sample)) {
    double sum = 0, sizes = 0;
    for (const Seen& seen : sample.seen) sum += seen.number;
    form.offset = rounded_to_digits(sum / static_cast<double>(sample.seen.size()), kOffsetDigits);
    for (const Seen& seen : sample.seen) sizes += std::abs(seen.number - static_cast<double>(form.offset));
    size = sizes / static_cast<double>(sample.seen.size());
  }
  const float scale = rounded_to_digits(size, kScaleDigits);
  if (std::isnormal(scale)) form.scale = scale;
  return form;
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
  const std::vector<Sample> samples = take_samples(rows, columns);
  for (std::size_t c = 0; c < samples.size(); ++c) {
    const Sample& sample = samples[c];
    Column& column = columns.list[c];
    column.facts.rows = sample.rows;
    column.facts.missing = sample.rows - sample.seen.size();
    column.facts.distinct = sample.distinct;
    column.facts.numbers = sample.numbers == sample.seen.size() && sample.numbers > 0;
    column.facts.smallest = sample.smallest, column.facts.largest = sample.largest;
    const bool is_feature = column.kind == Kind::kNumeric || column.kind == Kind::kCategorical;
    if (is_feature && !column.kind_told) guess_kind(sample, column);
    if (column.kind != Kind::kNumeric || column.number_told || !choose_scales) continue;
    if (column.number.shape != Shape::kBucket) column.number = form_for(sample, column.number.shape);
  }
  number_columns(columns);
}

}  // namespace thalweg
