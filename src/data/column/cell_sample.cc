#include "data/column/cell_sample.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "data/column/member_kinds.h"
#include "data/reader/cell_words.h"
#include "data/reader/json_members.h"
#include "data/reader/number.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

using Kind = Column::Kind;
using Shape = NumberForm::Shape;
using Seen = CellSample::Seen;

bool read_number(std::string_view cell, double& value) {
  return parse_real(cell.data(), cell.data() + cell.size(), value) == cell.data() + cell.size();
}

void add_number(double v, Shape shape, CellSample& sample) {
  if (sample.numbers++ == 0) sample.smallest = sample.largest = v;
  if (sample.numbers > 1 && v <= sample.last) sample.increasing = false;
  sample.last = v;
  sample.smallest = std::min(sample.smallest, v), sample.largest = std::max(sample.largest, v);
  sample.whole += v == std::floor(v) ? 1 : 0;
  sample.not_zero += size_of_number(v, shape) != 0 ? 1 : 0;
}

// A cell that is not missing, and the number that it is.
void add_cell(std::string_view cell, std::optional<double> number, double label, Shape shape,
              CellSample& sample) {
  Seen seen{XXH3_64bits(cell.data(), cell.size()), std::nan(""), label};
  if (number) {
    seen.number = *number;
    add_number(seen.number, shape, sample);
  }
  sample.seen.push_back(seen);
}

void take_cell(std::string_view cell, double label, Shape shape, CellSample& sample) {
  ++sample.rows;
  cell = trimmed(cell);
  if (cell.empty() || says_missing(cell)) return;
  double value = 0;
  const bool number = read_number(cell, value);
  add_cell(cell, number ? std::optional(value) : std::nullopt, label, shape, sample);
}

double label_of(std::string_view cell) {
  double value = 0;
  cell = trimmed(cell);
  if (!cell.empty() && read_number(cell, value)) return value;
  return truth_of(cell).value_or(0.0f);
}

void count_distinct(std::vector<CellSample>& samples) {
  for (CellSample& sample : samples) {
    std::vector<std::uint64_t> hashes;
    for (const Seen& seen : sample.seen) hashes.push_back(seen.hash);
    std::sort(hashes.begin(), hashes.end());
    sample.distinct = static_cast<std::uint64_t>(std::unique(hashes.begin(), hashes.end()) - hashes.begin());
  }
}

// Members in the order in which they are met.
class MemberSampler {
 public:
  MemberSampler(const ReadOptions& options, const MemberKinds& kinds, Columns& members)
      : kinds_(kinds),
        label_(options.label_column.empty() ? kinds.label() : options.label_column),
        weight_(options.weight_column.empty() ? kinds.weight() : options.weight_column),
        members_(members) {}

  void take_row(const char* line) {
    ++rows_;
    double label = 0;
    visit_json_scalars(line, [&](const JsonScalar& s) {
      if (is_label(s.path) && !s.in_array) label = label_of(s.text);
    });
    visit_json_scalars(line, [&](const JsonScalar& s) { take(s, label); });
  }

  std::vector<CellSample> samples() {
    std::vector<CellSample> samples;
    Columns kept;
    for (std::size_t m = 0; m < met_.size(); ++m) {
      Column& column = members_.list[m];
      if (met_[m].array) continue;
      if (!column.kind_told && column.kind == Kind::kCategorical && met_[m].sample.numbers > 0)
        column.kind = Kind::kNumeric;
      met_[m].sample.rows = rows_;
      samples.push_back(std::move(met_[m].sample));
      kept.list.push_back(std::move(column));
    }
    members_ = std::move(kept);
    count_distinct(samples);
    return samples;
  }

 private:
  struct Met {
    CellSample sample;
    std::uint64_t row = 0;  // The newest that has it.
    bool array = false;
  };

  bool is_label(std::string_view path) const {
    if (!label_.empty()) return path == label_;
    const ColumnItem* const told = kinds_.find(path);
    return told == nullptr && std::find(kLabelNames.begin(), kLabelNames.end(), path) != kLabelNames.end();
  }

  // Whether the member or an object that it is in is told to be left out.
  bool is_left_out(std::string_view path) const {
    for (std::size_t dot = path.find('.');; dot = path.find('.', dot + 1)) {
      const ColumnItem* const told = kinds_.find(path.substr(0, dot));
      if (told != nullptr && told->kind == Kind::kIgnored) return true;
      if (dot == path.npos) return false;
    }
  }

  Column column_of(std::string_view path) const {
    Column column{std::string(path), Kind::kCategorical, 0, 0};
    if (is_label(path)) {
      column.kind = Kind::kLabel, column.kind_told = !label_.empty();
    } else if (weight_.empty() ? path == "weight" && kinds_.find(path) == nullptr : path == weight_) {
      column.kind = Kind::kWeight, column.kind_told = !weight_.empty();
    } else if (const ColumnItem* const told = kinds_.find(path); told != nullptr) {
      column.kind = told->kind, column.number = told->number;
      column.kind_told = true, column.number_told = told->number_told;
    }
    return column;
  }

  void take(const JsonScalar& s, double label) {
    if (s.kind == JsonScalar::Kind::kNull || s.path.empty() || is_left_out(s.path)) return;
    const auto [place, is_new] = by_path_.try_emplace(std::string(s.path), met_.size());
    if (is_new) met_.emplace_back(), members_.list.push_back(column_of(s.path));
    Met& met = met_[place->second];
    met.array = met.array || s.in_array;
    if (met.array || met.row == rows_) return;
    met.row = rows_;
    std::optional<double> number;
    double value = 0;
    if (s.kind == JsonScalar::Kind::kNumber && read_number(s.text, value)) number = value;
    add_cell(s.text, number, label, members_.list[place->second].number.shape, met.sample);
  }

  const MemberKinds& kinds_;
  const std::string label_, weight_;
  Columns& members_;
  std::map<std::string, std::size_t, std::less<>> by_path_;
  std::vector<Met> met_;  // As members_.
  std::uint64_t rows_ = 0;
};

}  // namespace

double size_of_number(double number, Shape shape) {
  return std::abs(shape == Shape::kLog ? std::log1p(std::abs(number)) : number);
}

std::vector<CellSample> sample_cells(std::string_view rows, const Columns& columns) {
  std::vector<CellSample> samples(columns.list.size());
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
  count_distinct(samples);
  return samples;
}

std::vector<CellSample> sample_members(std::string_view rows, const ReadOptions& options,
                                       const MemberKinds& kinds, Columns& members) {
  MemberSampler sampler(options, kinds, members);
  const char* const end = rows.data() + rows.size();
  for (const char* p = rows.data(); p != end; p = line_end(p, end) + 1) {
    if (is_row(p, false)) sampler.take_row(p);
  }
  return sampler.samples();
}

}  // namespace thalweg
