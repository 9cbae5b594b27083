// IDX files for tests.
#pragma once

#include <cstdint>
#include <string>

namespace thalweg {

inline std::string idx_number(std::uint32_t number) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift & 0xff);
  return text;
}

// `pixels`: height * width bytes an image.
inline std::string idx_images(std::uint32_t count, std::uint32_t height, std::uint32_t width,
                              const std::string& pixels) {
  return idx_number(0x803) + idx_number(count) + idx_number(height) + idx_number(width) + pixels;
}

inline std::string idx_labels(const std::string& labels) {
  return idx_number(0x801) + idx_number(static_cast<std::uint32_t>(labels.size())) + labels;
}

}  // namespace thalweg
