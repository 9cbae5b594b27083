// Commutative semirings: what adding and multiplying mean where shortest paths, widest paths, reachability or
// most likely sequences are found as sums of products. Adding is a reduction that groups know, so a step of
// such an algorithm is push_edges() on each rank's edges and group.all_reduce(sums, S::kReduction), whose
// bits depend on no order but for sums of floats; examples/shortest_paths.cc and examples/viterbi.cc are
// whole programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "thalweg/reduction.h"

namespace thalweg {

// `zero` is neutral to add() and absorbs in multiply(), `one` is neutral to multiply().
template <class S>
concept Semiring = requires(typename S::Value a, typename S::Value b) {
  S::zero();
  S::one();
  S::add(a, b);
  S::multiply(a, b);
  S::kReduction;
};

// The numbers themselves; unsigned ones are exact modulo 2^64.
template <class T>
struct PlusTimes {
  using Value = T;
  static constexpr Reduction kReduction = Reduction::kSum;
  static constexpr T zero() { return 0; }
  static constexpr T one() { return 1; }
  static constexpr T add(T a, T b) { return a + b; }
  static constexpr T multiply(T a, T b) { return a * b; }
};

// Infinity where T has one, else its end.
template <class T>
constexpr T semiring_top() {
  using L = std::numeric_limits<T>;
  return L::has_infinity ? L::infinity() : L::max();
}
template <class T>
constexpr T semiring_bottom() {
  using L = std::numeric_limits<T>;
  return L::has_infinity ? -L::infinity() : L::lowest();
}

// Shortest paths. Precondition of integers: no sum of finite lengths overflows or is zero().
template <class T>
struct MinPlus {
  using Value = T;
  static constexpr Reduction kReduction = Reduction::kMin;
  static constexpr T zero() { return semiring_top<T>(); }
  static constexpr T one() { return 0; }
  static constexpr T add(T a, T b) { return std::min(a, b); }
  static constexpr T multiply(T a, T b) { return a == zero() || b == zero() ? zero() : a + b; }
};

// Longest paths; the same precondition.
template <class T>
struct MaxPlus {
  using Value = T;
  static constexpr Reduction kReduction = Reduction::kMax;
  static constexpr T zero() { return semiring_bottom<T>(); }
  static constexpr T one() { return 0; }
  static constexpr T add(T a, T b) { return std::max(a, b); }
  static constexpr T multiply(T a, T b) { return a == zero() || b == zero() ? zero() : a + b; }
};

// Widest paths.
template <class T>
struct MaxMin {
  using Value = T;
  static constexpr Reduction kReduction = Reduction::kMax;
  static constexpr T zero() { return semiring_bottom<T>(); }
  static constexpr T one() { return semiring_top<T>(); }
  static constexpr T add(T a, T b) { return std::max(a, b); }
  static constexpr T multiply(T a, T b) { return std::min(a, b); }
};

// Most likely sequences (Viterbi); values are not negative.
template <class T>
struct MaxTimes {
  using Value = T;
  static constexpr Reduction kReduction = Reduction::kMax;
  static constexpr T zero() { return 0; }
  static constexpr T one() { return 1; }
  static constexpr T add(T a, T b) { return std::max(a, b); }
  static constexpr T multiply(T a, T b) { return a * b; }
};

// Reachability; values are 0 and 1.
struct OrAnd {
  using Value = std::int32_t;
  static constexpr Reduction kReduction = Reduction::kOr;
  static constexpr Value zero() { return 0; }
  static constexpr Value one() { return 1; }
  static constexpr Value add(Value a, Value b) { return a | b; }
  static constexpr Value multiply(Value a, Value b) { return a & b; }
};

template <class T>
struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  T weight{};
};

// sums[e.to] = sums[e.to] + values[e.from] * e.weight for each edge e: a vector times a sparse matrix.
template <Semiring S>
void push_edges(std::span<const Edge<typename S::Value>> edges, std::span<const typename S::Value> values,
                std::span<typename S::Value> sums) {
  for (const auto& edge : edges) {
    sums[edge.to] = S::add(sums[edge.to], S::multiply(values[edge.from], edge.weight));
  }
}

}  // namespace thalweg
