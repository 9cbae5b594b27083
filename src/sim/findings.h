// The first violation that a run found; everything after it is consequence.
#pragma once

#include <string>
#include <utility>

namespace thalweg::sim {

class Findings {
 public:
  void add(std::string violation) {
    if (first_.empty()) first_ = std::move(violation);
  }
  bool none() const { return first_.empty(); }
  const std::string& first() const { return first_; }

 private:
  std::string first_;
};

}  // namespace thalweg::sim
