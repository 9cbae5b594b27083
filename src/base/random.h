// Seeded generators; all chance in the system comes from one of these.
#pragma once

#include <cmath>
#include <cstdint>

namespace thalweg {

// Splitmix64 (Steele, Lea, Flood 2014): one value from one counter.
constexpr std::uint64_t splitmix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}
  constexpr std::uint64_t next() { return splitmix(state_++ * 0xd1342543de82ef95ULL + 1); }
  // Uniform in [0, n); n > 0.
  constexpr std::uint64_t below(std::uint64_t n) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * n) >> 64);
  }
  // Uniform in [0, 1) with 53 bits.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  constexpr bool chance(double probability) { return unit() < probability; }
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
    return radius * std::cos(6.283185307179586 * unit());
  }
  // An independent generator for one concern, so that draws there do not shift draws here.
  constexpr Random split(std::uint64_t concern) const { return Random(splitmix(state_ ^ splitmix(concern))); }

 private:
  std::uint64_t state_;
};

}  // namespace thalweg
