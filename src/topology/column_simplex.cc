#include "topology/column_simplex.h"

#include <algorithm>
#include <cstddef>

namespace thalweg {
namespace {

constexpr double kTiny = 1e-10;  // Below it a price or pivot counts as 0; capacities are scaled to 1.
constexpr double kPerturbation =
    1e-9;  // Relative; keeps the program from standing still and thus from cycling.
constexpr std::uint32_t kPivotsPerRow = 1000;

// The basis: a slack or a column per row, its inverse and the values of its variables.
class Simplex {
 public:
  explicit Simplex(const std::vector<double>& capacities) : size_(capacities.size()), basis_(size_) {
    inverse_.assign(size_ * size_, 0);
    const double most = *std::max_element(capacities.begin(), capacities.end());
    for (std::size_t row = 0; row < size_; ++row) {
      inverse_[row * size_ + row] = 1;
      const double share = static_cast<double>((row * 7919 + 13) % 1009) / 1009;
      values_.push_back(capacities[row] / most * (1 - kPerturbation * share));
    }
  }

  // One step towards the optimum; false when it is reached.
  bool pivot(const CheapestColumn& cheapest) {
    std::vector<double> prices(size_, 0);
    for (std::size_t i = 0; i < size_; ++i) {
      if (!basis_[i]) continue;
      for (std::size_t row = 0; row < size_; ++row) prices[row] += inverse_[i * size_ + row];
    }
    const auto lowest = std::min_element(prices.begin(), prices.end());
    if (*lowest < -kTiny) {
      const auto row = static_cast<std::uint32_t>(lowest - prices.begin());
      return enter(Column{row}, true);
    }
    for (double& price : prices) price = std::max(price, 0.0);
    std::optional<Column> column = cheapest(prices);
    if (!column) return false;
    double price = 0;
    for (const std::uint32_t row : *column) price += prices[row];
    return price < 1 - 1e-9 && enter(*std::move(column), false);
  }

  std::vector<WeightedColumn> solution() const {
    std::vector<WeightedColumn> columns;
    for (std::size_t i = 0; i < size_; ++i) {
      if (basis_[i] && values_[i] > 10 * kPerturbation) columns.push_back({*basis_[i], values_[i]});
    }
    return columns;
  }

 private:
  bool enter(Column column, bool slack) {
    std::vector<double> change(size_, 0);
    for (std::size_t i = 0; i < size_; ++i) {
      for (const std::uint32_t row : column) change[i] += inverse_[i * size_ + row];
    }
    std::size_t leaving = size_;
    for (std::size_t i = 0; i < size_; ++i) {
      if (change[i] <= kTiny) continue;
      if (leaving == size_ || values_[i] * change[leaving] < values_[leaving] * change[i]) leaving = i;
    }
    if (leaving == size_) return false;  // No row bounds it: a column without rows.
    eliminate(leaving, change);
    basis_[leaving] = slack ? std::nullopt : std::optional<Column>(std::move(column));
    return true;
  }

  void eliminate(std::size_t leaving, const std::vector<double>& change) {
    double* pivot_row = &inverse_[leaving * size_];
    for (std::size_t row = 0; row < size_; ++row) pivot_row[row] /= change[leaving];
    values_[leaving] /= change[leaving];
    for (std::size_t i = 0; i < size_; ++i) {
      if (i == leaving || change[i] == 0) continue;
      for (std::size_t row = 0; row < size_; ++row) inverse_[i * size_ + row] -= change[i] * pivot_row[row];
      values_[i] = std::max(0.0, values_[i] - change[i] * values_[leaving]);
    }
  }

  std::size_t size_;
  std::vector<std::optional<Column>> basis_;  // None: a slack.
  std::vector<double> inverse_;
  std::vector<double> values_;
};

// Scales the weights so that the fullest row is exactly full.
void fill(const std::vector<double>& capacities, std::vector<WeightedColumn>& columns) {
  std::vector<double> load(capacities.size(), 0);
  for (const WeightedColumn& column : columns) {
    for (const std::uint32_t row : column.rows) load[row] += column.weight;
  }
  double fullest = 0;
  for (std::size_t row = 0; row < load.size(); ++row)
    fullest = std::max(fullest, load[row] / capacities[row]);
  if (fullest == 0) return;
  for (WeightedColumn& column : columns) column.weight = column.weight / fullest * (1 - 1e-15);
}

}  // namespace

std::vector<WeightedColumn> maximise(const std::vector<double>& capacities, const CheapestColumn& cheapest) {
  if (capacities.empty()) return {};
  Simplex simplex(capacities);
  for (std::size_t i = 0; i < kPivotsPerRow * capacities.size() && simplex.pivot(cheapest); ++i) {
  }
  std::vector<WeightedColumn> columns = simplex.solution();
  fill(capacities, columns);
  return columns;
}

}  // namespace thalweg
