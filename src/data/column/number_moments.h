// The mean and the standard deviation of numbers, one after another (Welford, Technometrics 1962).
#pragma once

#include <cmath>
#include <cstdint>

namespace thalweg {

class NumberMoments {
 public:
  void add(double number) {
    ++count_;
    const double before = number - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (number - mean_);
  }
  std::uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  double standard_deviation() const {
    return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
  }

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // Of what is between each and the mean.
};

}  // namespace thalweg
