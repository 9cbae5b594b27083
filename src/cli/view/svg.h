// A small writer of SVG pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thalweg {

class Svg {
 public:
  enum class Anchor : std::uint8_t { kStart, kMiddle, kEnd };

  Svg(double width, double height);
  void line(double x1, double y1, double x2, double y2, std::string_view color);
  // `title` shows where a reader points at it; empty: none.
  void box(double x, double y, double width, double height, std::string_view color,
           std::string_view title = {});
  void text(double x, double y, std::string_view words, Anchor anchor = Anchor::kStart);
  void curve(const std::vector<std::pair<double, double>>& points, std::string_view color);
  std::string finish() &&;

  // Colors that differ, again and again from the first.
  static std::string_view color(std::size_t index);

 private:
  std::string out_;
};

}  // namespace thalweg
