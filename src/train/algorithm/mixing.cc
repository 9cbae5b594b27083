#include "train/algorithm/mixing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace thalweg {
namespace {

constexpr std::uint32_t kSizeMax = 1024;
constexpr double kTolerance = 1e-12;

using Neighbours = std::set<std::uint32_t>;

Neighbours on_ring(std::uint32_t i, std::uint32_t size) { return {(i + 1) % size, (i + size - 1) % size}; }

Neighbours on_torus(std::uint32_t i, std::uint32_t size) {
  std::uint32_t rows = static_cast<std::uint32_t>(std::sqrt(size));
  while (size % rows != 0) --rows;
  const std::uint32_t columns = size / rows, row = i / columns, column = i % columns;
  const auto at = [&](std::uint32_t r, std::uint32_t c) { return r % rows * columns + c % columns; };
  return {at(row + 1, column), at(row + rows - 1, column), at(row, column + 1),
          at(row, column + columns - 1)};
}

Neighbours exponential(std::uint32_t i, std::uint32_t size) {
  Neighbours all;
  for (std::uint32_t away = 1; away < size; away *= 2) {
    all.insert((i + away) % size);
    all.insert((i + size - away) % size);
  }
  return all;
}

// Metropolis-Hastings weights: as much for each neighbour as the one of the two with more of them can give.
MixingMatrix of_graph(std::uint32_t size, Neighbours (*neighbours)(std::uint32_t, std::uint32_t)) {
  std::vector<Neighbours> of;
  for (std::uint32_t i = 0; i < size; ++i) {
    of.push_back(neighbours(i, size));
    of.back().erase(i);
  }
  MixingMatrix matrix{size, std::vector<double>(std::size_t{size} * size)};
  for (std::uint32_t i = 0; i < size; ++i) {
    double rest = 1;
    for (const std::uint32_t j : of[i]) {
      const double weight = 1.0 / static_cast<double>(1 + std::max(of[i].size(), of[j].size()));
      matrix.weights[std::size_t{i} * size + j] = weight;
      rest -= weight;
    }
    matrix.weights[std::size_t{i} * size + i] = rest;
  }
  return matrix;
}

MixingMatrix complete(std::uint32_t size) {
  return {size, std::vector<double>(std::size_t{size} * size, 1.0 / size)};
}

Result<std::vector<double>> numbers_of(std::string_view line, const std::string& place, std::uint32_t size) {
  std::vector<double> numbers;
  const char* at = line.data();
  const char* const end = at + line.size();
  const auto skip = [&] {
    while (at != end && (*at == ' ' || *at == '\t' || *at == ',' || *at == '\r')) ++at;
  };
  for (skip(); at != end; skip()) {
    double number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) {
      return Status(Code::kData, fmt::format("{}: '{}'; expected a number", place, std::string(at, end)));
    }
    numbers.push_back(number);
    at = next;
  }
  if (numbers.size() != size) {
    return Status(Code::kData,
                  fmt::format("{}: {} numbers; expected {}, one a data shard", place, numbers.size(), size));
  }
  return numbers;
}

Result<MixingMatrix> from_file(const std::string& path, std::uint32_t size) {
  std::ifstream file(path);
  std::error_code error;
  const bool directory = std::filesystem::is_directory(path, error);
  if (!file || directory) {
    return Status(
        Code::kUsage,
        fmt::format("graph {}: no such graph, and {}; expected ring, torus, exponential, complete or a "
                    "file",
                    path, directory ? "a directory" : "no file of that name"));
  }
  MixingMatrix matrix{size, {}};
  std::string line;
  std::uint32_t number = 0;
  while (std::getline(file, line)) {
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const auto numbers = numbers_of(line, fmt::format("{}:{}", path, number), size);
    if (!numbers) return numbers.status();
    matrix.weights.insert(matrix.weights.end(), numbers->begin(), numbers->end());
    if (matrix.weights.size() > std::size_t{size} * size) break;
  }
  if (matrix.weights.size() != std::size_t{size} * size) {
    return Status(Code::kData, fmt::format("{}: {} lines of numbers; expected {}, one a data shard", path,
                                           matrix.weights.size() / size, size));
  }
  return matrix;
}

Result<MixingMatrix> made(std::string_view graph, std::uint32_t size) {
  if (graph == "ring") return of_graph(size, on_ring);
  if (graph == "torus") return of_graph(size, on_torus);
  if (graph == "exponential") return of_graph(size, exponential);
  if (graph == "complete") return complete(size);
  return from_file(std::string(graph), size);
}

}  // namespace

Status check(const MixingMatrix& matrix) {
  for (std::uint32_t i = 0; i < matrix.size; ++i) {
    double sum = 0;
    for (std::uint32_t j = 0; j < matrix.size; ++j) {
      const double weight = matrix(i, j);
      if (!(weight >= 0 && weight <= 1)) {
        return {Code::kUsage,
                fmt::format("mixing weight of shards {} and {} is {}; expected 0 to 1", i, j, weight)};
      }
      if (std::abs(weight - matrix(j, i)) > kTolerance) {
        return {
            Code::kUsage,
            fmt::format("mixing weights are {} of shard {} for {}, and {} the other way; expected the same",
                        weight, i, j, matrix(j, i))};
      }
      sum += weight;
    }
    if (std::abs(sum - 1) > kTolerance) {
      return {Code::kUsage,
              fmt::format("mixing weights of shard {} add up to {:.15g}; expected 1, within 1e-12", i, sum)};
    }
  }
  if (matrix.size > 1 && second_eigenvalue(matrix) > 1 - 1e-9) {
    return {Code::kUsage,
            "mixing weights never bring all shards together; expected a connected graph in "
            "which shards keep a part of their own"};
  }
  return ok_status();
}

Result<MixingMatrix> mixing_matrix(std::string_view graph, std::uint32_t size) {
  if (size > kSizeMax) {
    return Status(Code::kUsage,
                  fmt::format("a graph of {} data shards; expected at most {}", size, kSizeMax));
  }
  auto matrix = made(graph, size);
  if (!matrix) return matrix;
  if (Status status = check(*matrix); !status.ok())
    return Status(status.code(), fmt::format("{}: {}", graph, status.message()));
  return matrix;
}

// By power iteration on what is left of vectors without their mean, whose eigenvalue is 1.
double second_eigenvalue(const MixingMatrix& matrix) {
  const std::size_t n = matrix.size;
  if (n < 2) return 0;
  std::vector<double> vector(n), next(n);
  for (std::size_t i = 0; i < n; ++i) vector[i] = std::cos(1.0 + 1.7 * static_cast<double>(i * i + i));
  double length = 0;
  constexpr int kSteps = 5000;
  for (int step = 0; step < kSteps; ++step) {
    double mean = 0;
    for (const double value : vector) mean += value / static_cast<double>(n);
    for (double& value : vector) value -= mean;
    double square = 0;
    for (const double value : vector) square += value * value;
    if (square == 0) return 0;
    for (double& value : vector) value /= std::sqrt(square);
    for (std::size_t i = 0; i < n; ++i) {
      next[i] = 0;
      for (std::size_t j = 0; j < n; ++j) next[i] += matrix.weights[i * n + j] * vector[j];
    }
    const double before = length;
    length = 0;
    for (const double value : next) length += value * value;
    length = std::sqrt(length);
    std::swap(vector, next);
    constexpr double kNoise = 1e-9;  // What is left of a vector that is all mean.
    if (length < kNoise) return 0;
    if (std::abs(length - before) < 1e-14 && step > 100) break;
  }
  return length;
}

}  // namespace thalweg
