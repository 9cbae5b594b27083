// Calls of groups on arrays of Python: numpy's, or any that speak DLPack.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/group.h"

namespace thalweg::python {

using InArray = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;
using OutArray = nanobind::ndarray<nanobind::device::cpu>;

// What a call says beside its arrays.
struct CallWords {
  std::string reduction = "sum";
  std::uint32_t root = 0, peer = 0;
  std::vector<std::size_t> counts, counts_out;
  std::vector<std::uint32_t> neighbours;
  std::string route;  // Empty: the group chooses.
  std::size_t piece_bytes = 0;
  std::uint32_t channels = 1;
  double timeout = 0;
};

// A call and what it points to.
struct HeldCall {
  CallWords words;
  std::optional<InArray> in;
  std::optional<OutArray> out;
  GroupCall call;
};

// Throws kUsage where arrays do not suit each other or the operation.
std::unique_ptr<HeldCall> held_call(const Group& group, const std::string& operation,
                                    std::optional<InArray> in, std::optional<OutArray> out, CallWords words);

}  // namespace thalweg::python
