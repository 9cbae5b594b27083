// What a training's checkpoints know of the passes before them, for whoever goes on from one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/train_report.h"

namespace thalweg {

struct PassHistory {
  std::uint32_t first = 0;  // From 0: the first pass that is known.
  std::vector<EpochNumbers> passes;

  std::uint64_t end() const { return first + passes.size(); }
};
// JSON: of each pass all numbers but those of a sample of its rows and when it ended.
std::string to_text(const PassHistory& history);
// Without a pass where it cannot be read.
PassHistory history_from_text(std::string_view text);

}  // namespace thalweg
