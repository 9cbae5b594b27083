// A linear program whose columns are made on demand: maximise the sum of x with A x <= capacity, x >= 0,
// where A's columns are sets of rows (a tree's edges).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace thalweg {

using Column = std::vector<std::uint32_t>;  // The rows where it is 1.

struct WeightedColumn {
  Column rows;
  double weight = 0;
};

// Given a price of at least 0 per row, a column of the least total price; none when there is no column.
using CheapestColumn = std::function<std::optional<Column>(const std::vector<double>& prices)>;

// A best solution, as the columns of weight above 0: at most one per row. Capacities are positive. Revised
// primal simplex with column generation (Gilmore and Gomory 1961); ends by its slight perturbation of the
// capacities, which costs a share of 1e-9 at most. No sum of weights exceeds its row's capacity.
std::vector<WeightedColumn> maximise(const std::vector<double>& capacities, const CheapestColumn& cheapest);

}  // namespace thalweg
