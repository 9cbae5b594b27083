// All ranges that a server owns: in lockstep as they are at one step boundary, else each as it is at a moment
// of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/node.h"
#include "server/table_cut.h"
#include "thalweg/status.h"
#include "wire/messages.h"

namespace thalweg {

struct Cut {
  std::uint32_t server = 0;
  wire::CheckpointOrder order;
  std::vector<TableCut> tables;  // By table id.
};

// By shard, where it goes on and how far anything is known of it, over all ranges; nothing in lockstep.
std::vector<Reached> reached_in(const std::vector<TableCut>& tables);

// Stores a cut where its order says. What it returns tells whoever completes the checkpoint what there is
// now. Called outside the server's turns, on any thread.
using StoreCut = std::function<Result<std::string>(const Cut& cut)>;

// A cut on its way to where it is stored.
class CutWork final : public Computation {
 public:
  explicit CutWork(StoreCut store) : store_(std::move(store)) {}

  void compute() override { stored_ = store_(*cut_); }

  bool possible() const { return store_ != nullptr; }
  bool busy() const { return cut_.has_value(); }    // From put() to finish().
  bool waits() const { return busy() && !taken_; }  // For a driver to take it.
  // Precondition: possible(), and not busy().
  void put(Cut cut) {
    cut_ = std::move(cut);
    taken_ = false;
  }
  Computation* take() { return !busy() || std::exchange(taken_, true) ? nullptr : this; }
  // How it went, of which order. Precondition: it has been computed.
  std::pair<std::uint64_t, Result<std::string>> finish() {
    const std::uint64_t number = cut_->order.number;
    cut_.reset();
    return {number, *std::exchange(stored_, std::nullopt)};
  }

 private:
  StoreCut store_;
  std::optional<Cut> cut_;
  bool taken_ = false;
  std::optional<Result<std::string>> stored_;
};

}  // namespace thalweg
