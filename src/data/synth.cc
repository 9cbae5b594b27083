#include "data/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string>

namespace thalweg {
namespace {

constexpr std::size_t kNumeric = 13;
constexpr std::uint32_t kBuckets = 64;
constexpr double kZipfExponent = 1.05;
constexpr double kPositiveRate = 0.233;
// Distinct values of C1..C26 in the Kaggle training set, clipped at 2.5 million.
constexpr std::array<std::uint32_t, kSynthFields - kNumeric> kCardinalities = {
    1460, 583,   2500000, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   2500000, 3194,
    27,   14992, 2500000, 10,      5652, 2173, 4,     2500000, 18, 15,    286181, 105,     142572};
// Fields whose pairs of values have a weight of their own: C1 with C2, C6 with C9.
constexpr std::array<std::array<std::size_t, 2>, 2> kInteractions = {{{13, 14}, {18, 21}}};

// The sum of the four 16-bit parts of random bits (Irwin-Hall): nearly normal and the same on every machine.
constexpr std::int64_t kFourMean = 4 * 65535 / 2;
constexpr double kFourDeviation = 37836.0;  // sqrt(4 * (65536^2 - 1) / 12).
constexpr std::int64_t sum_of_four(std::uint64_t bits) {
  return static_cast<std::int64_t>((bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) +
                                   (bits >> 48));
}
double nearly_normal(std::uint64_t bits) {
  return static_cast<double>(sum_of_four(bits) - kFourMean) / kFourDeviation;
}

double hidden_weight(std::uint64_t seed, std::uint64_t id, bool numeric) {
  const std::uint64_t bits = splitmix(seed * 0x9e3779b97f4a7c15ULL ^ id);
  const double strong = (bits * 0x2545f4914f6cdd1dULL) >> 32 < 1717986918 ? 0.40 : 0.11;  // 40 % of 2^32.
  return nearly_normal(bits) * (numeric ? 0.22 : strong);
}

double hidden_interaction(std::uint64_t seed, std::size_t pair, std::uint64_t a, std::uint64_t b) {
  return 0.31 * nearly_normal(splitmix(splitmix(seed + 0x5851f42d4c957f2dULL * (pair + 1)) ^ (a << 32 | b)));
}

double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// AUC of probabilities by counting labels per narrow bin; rows of one bin count as ties.
class OracleSums {
 public:
  void add(double probability, bool positive) {
    const auto bin = static_cast<std::size_t>(probability * kBins);
    ++counts_[std::min(bin, kBins - 1)][positive ? 1 : 0];
    loss_ -= std::log(positive ? probability : 1.0 - probability);
  }
  double auc() const {
    double below = 0, pairs = 0, negatives = 0, positives = 0;
    for (const auto& [negative, positive] : counts_) {
      pairs += positive * (below + 0.5 * negative);
      below += negative;
      negatives += negative, positives += positive;
    }
    return negatives > 0 && positives > 0 ? pairs / (negatives * positives) : 0.5;
  }
  double loss() const { return loss_; }

 private:
  static constexpr std::size_t kBins = std::size_t{1} << 20;
  std::vector<std::array<std::uint32_t, 2>> counts_ = std::vector<std::array<std::uint32_t, 2>>(kBins);
  double loss_ = 0;
};

// Text of rows, gathered in a buffer.
class RowText {
 public:
  RowText(const SynthSource& source, std::string_view format)
      : source_(source), criteo_(format == "criteo"), fields_(format == "libffm") {
    // The smallest integer of each bucket of floor(ln(v)^2); buckets 0 to 2 are the integers themselves.
    for (std::uint32_t b = 0; b < kBuckets; ++b) {
      integers_[b] = b <= 2 ? b : static_cast<std::uint32_t>(std::ceil(std::exp(std::sqrt(b - 2.0))));
    }
  }
  void append(const SynthRow& row) {
    if (text_.size() < size_ + kMaxRowBytes) text_.resize(std::max(2 * text_.size(), std::size_t{1} << 20));
    p_ = text_.data() + size_;
    *p_++ = row.positive ? '1' : '0';
    for (std::size_t f = 0; f < kSynthFields; ++f) append_field(f, row.values[f]);
    *p_++ = '\n';
    size_ = static_cast<std::size_t>(p_ - text_.data());
  }
  std::string_view view() const { return {text_.data(), size_}; }
  void clear() { size_ = 0; }

 private:
  static constexpr std::size_t kMaxRowBytes = 1024;

  void number(std::uint32_t value) { p_ = std::to_chars(p_, p_ + 16, value).ptr; }
  void append_field(std::size_t field, std::uint32_t value) {
    const std::uint32_t id = source_.offset(field) + value;
    if (criteo_) {
      *p_++ = '\t';
      if (field < kNumeric) return number(integers_[value]);
      const std::uint32_t token = id * 2654435761u;  // Odd, so ids keep distinct tokens.
      for (int shift = 28; shift >= 0; shift -= 4) *p_++ = "0123456789abcdef"[(token >> shift) & 15];
      return;
    }
    *p_++ = ' ';
    if (fields_) {
      number(static_cast<std::uint32_t>(field));
      *p_++ = ':';
    }
    number(id + 1);
    *p_++ = ':';
    *p_++ = '1';
  }

  const SynthSource& source_;
  bool criteo_, fields_;
  std::array<std::uint32_t, kBuckets> integers_{};
  std::vector<char> text_;
  std::size_t size_ = 0;
  char* p_ = nullptr;
};

}  // namespace

SynthSource::SynthSource(std::uint64_t seed, std::uint32_t day) : seed_(seed), day_(day) {
  // A turn by 0.2 a day, by products, which are the same on every machine.
  constexpr double kCosine = 0.98006657784124163, kSine = 0.19866933079506122;
  for (std::uint32_t turn = 0; turn < day; ++turn) {
    const double first = kCosine * first_part_ - kSine * other_part_;
    other_part_ = kSine * first_part_ + kCosine * other_part_;
    first_part_ = first;
  }
  Random random(splitmix(seed));
  for (std::size_t f = 0; f < kSynthFields; ++f) {
    const std::uint32_t size = f < kNumeric ? kBuckets : kCardinalities[f - kNumeric];
    offsets_[f + 1] = offsets_[f] + size;
    if (f < kNumeric) continue;
    std::uint64_t multiplier = size > 2 ? 1 + random.below(size - 1) : 1;
    while (std::gcd(multiplier, std::uint64_t{size}) != 1) ++multiplier;
    categories_.push_back({Zipf(size, kZipfExponent), multiplier, random.below(size)});
  }
  // A log-normal bucket for each level of a nearly normal variable in [-3.5, 3.5] deviations.
  for (std::size_t level = 0; level < bucket_of_level_.size(); ++level) {
    const double x =
        (static_cast<double>(level) + 0.5) / static_cast<double>(bucket_of_level_.size()) * 7.0 - 3.5;
    bucket_of_level_[level] =
        static_cast<std::uint8_t>(std::min<double>(kBuckets - 1, 4.0 * std::exp(0.9 * x)));
  }
  // Bisection for the bias on a sample that no row index meets.
  std::vector<double> scores(20000);
  SynthRow row{};
  for (double& score : scores) score = draw(random, row);
  double low = -20, high = 20;
  for (int i = 0; i < 50; ++i) {
    bias_ = (low + high) / 2;
    double sum = 0;
    for (const double score : scores) sum += logistic(score + bias_);
    (sum < kPositiveRate * static_cast<double>(scores.size()) ? low : high) = bias_;
  }
}

double SynthSource::weight(std::uint64_t id, bool numeric) const {
  const double first = hidden_weight(seed_, id, numeric);
  if (day_ == 0) return first;
  return first_part_ * first + other_part_ * hidden_weight(~seed_, id, numeric);
}

// Fills row.values; the result is the hidden model's score without the bias.
double SynthSource::draw(Random& random, SynthRow& row) const {
  double score = 0;
  const std::int64_t latent = sum_of_four(random.next());
  for (std::size_t f = 0; f < kNumeric; ++f) {
    // Correlation 0.36 between any two: 0.6^2 + 0.8^2 = 1 keeps the variance.
    const std::int64_t own = sum_of_four(random.next());
    const std::int64_t deviation = (6 * (latent - kFourMean) + 8 * (own - kFourMean)) / 10;
    const std::int64_t level = (deviation + 132426) * 4096 / (2 * 132426);  // 3.5 deviations each way.
    row.values[f] = bucket_of_level_[static_cast<std::size_t>(std::clamp<std::int64_t>(level, 0, 4095))];
    score += weight(offsets_[f] + row.values[f], true);
  }
  for (std::size_t f = kNumeric; f < kSynthFields; ++f) {
    const Category& category = categories_[f - kNumeric];
    const std::uint64_t rank = category.zipf.draw(random);
    const std::uint64_t size = offsets_[f + 1] - offsets_[f];
    row.values[f] = static_cast<std::uint32_t>((rank * category.multiplier + category.shift) % size);
    score += weight(offsets_[f] + row.values[f], false);
  }
  for (std::size_t i = 0; i < kInteractions.size(); ++i) {
    score += hidden_interaction(seed_, i, row.values[kInteractions[i][0]], row.values[kInteractions[i][1]]);
  }
  return score;
}

SynthRow SynthSource::row(std::uint64_t index) const {
  SynthRow row{};
  Random random = Random(seed_).split(day_ == 0 ? index : splitmix(day_) ^ index);
  row.probability = logistic(draw(random, row) + bias_);
  row.positive = random.unit() < row.probability;
  return row;
}

Result<SynthReport> synthesize(const SynthOptions& options, std::ostream& out) {
  if (options.format != "libsvm" && options.format != "libffm" && options.format != "criteo") {
    return Status(Code::kUsage,
                  "synthetic data: saw format " + options.format + ", expected libsvm, libffm or criteo");
  }
  const SynthSource source(options.seed, options.day);
  RowText text(source, options.format);
  OracleSums oracle;
  SynthReport report;
  report.ids = source.offset(kSynthFields);
  const auto flush = [&] {
    out.write(text.view().data(), static_cast<std::streamsize>(text.view().size()));
    report.bytes += text.view().size();
    text.clear();
    return out.good();
  };
  for (; report.rows < options.rows; ++report.rows) {
    const SynthRow row = source.row(report.rows);
    text.append(row);
    oracle.add(row.probability, row.positive);
    report.positives += row.positive ? 1 : 0;
    if (text.view().size() >= (std::size_t{1} << 19) && !flush()) break;
  }
  if (!flush() || !out.flush()) {
    return Status(Code::kIo, fmt::format("synthetic data: writing failed after {} bytes (is the disk full?)",
                                         report.bytes));
  }
  report.oracle_auc = oracle.auc();
  report.oracle_logloss = report.rows == 0 ? 0.0 : oracle.loss() / static_cast<double>(report.rows);
  return report;
}

}  // namespace thalweg
