// Figures of a benchmark: medians with their least and greatest, printed for people and kept as JSON.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::bench {

class Rates {
 public:
  void add(const std::string& name, const std::string& unit, double value) {
    const auto known =
        std::find_if(series_.begin(), series_.end(), [&](const Series& s) { return s.name == name; });
    Series& series = known != series_.end() ? *known : series_.emplace_back(Series{name, unit, {}});
    series.values.push_back(value);
  }
  void print() const {
    for (const Series& series : series_) {
      auto values = series.values;
      std::sort(values.begin(), values.end());
      fmt::print("{:<52} {:10.3f} [{:.3f}..{:.3f}] {}\n", series.name, values[values.size() / 2],
                 values.front(), values.back(), series.unit);
    }
    std::fflush(stdout);
  }
  // {"name": {"unit": "...", "values": [...]}, ...}; false when the file cannot be written.
  bool write(const std::string& path) const {
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    const char* comma = "";
    fmt::print(file, "{{");
    for (const Series& series : series_) {
      fmt::print(file, "{}\n  \"{}\": {{\"unit\": \"{}\", \"values\": [{:.6g}]}}", comma, series.name,
                 series.unit, fmt::join(series.values, ", "));
      comma = ",";
    }
    fmt::print(file, "\n}}\n");
    return std::fclose(file) == 0;
  }

 private:
  struct Series {
    std::string name;
    std::string unit;
    std::vector<double> values;
  };
  std::vector<Series> series_;  // In the order of their first value.
};

}  // namespace thalweg::bench
