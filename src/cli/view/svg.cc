#include "cli/view/svg.h"

#include <fmt/format.h>

#include <array>

namespace thalweg {
namespace {

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return out;
}

}  // namespace

Svg::Svg(double width, double height) {
  out_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view color) {
  out_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1,
                      y1, x2, y2, color);
}

void Svg::box(double x, double y, double width, double height, std::string_view color,
              std::string_view title) {
  out_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"", x, y,
                      width, height, color);
  out_ += title.empty() ? "/>\n" : fmt::format("><title>{}</title></rect>\n", xml_escaped(title));
}

void Svg::text(double x, double y, std::string_view words, Anchor anchor) {
  constexpr std::array kAnchors = {"start", "middle", "end"};
  out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
                      kAnchors[static_cast<std::size_t>(anchor)], xml_escaped(words));
}

void Svg::curve(const std::vector<std::pair<double, double>>& points, std::string_view color) {
  out_ += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"", color);
  for (const auto& [x, y] : points) out_ += fmt::format("{:.1f},{:.1f} ", x, y);
  out_ += "\"/>\n";
}

std::string Svg::finish() && {
  out_ += "</svg>\n";
  return std::move(out_);
}

std::string_view Svg::color(std::size_t index) {
  // Okabe and Ito's colors, which most color-blind readers can tell apart, and darker shades of them.
  constexpr std::array<std::string_view, 14> kColors = {"#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7",
                                                        "#56b4e9", "#999999", "#f0e442", "#003f63", "#805800",
                                                        "#005740", "#763400", "#71435d", "#000000"};
  return kColors[index % kColors.size()];
}

}  // namespace thalweg
