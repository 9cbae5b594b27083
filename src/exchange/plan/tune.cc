#include "exchange/plan/tune.h"

#include "exchange/plan/estimate.h"

namespace thalweg {
namespace {

constexpr std::uint64_t kPieceBytesLeast = 4 << 10, kPieceBytesMost = 16 << 20;
constexpr std::uint32_t kChannelsMost = 16;

class Trials {
 public:
  Trials(const Topology& topology, const Demand& demand, Forecast start)
      : topology_(topology), demand_(demand), best_(std::move(start)) {}

  Result<Forecast> run() {
    for (bool better = true; better;) {
      const double before = best_.seconds;
      if (Status status = try_channels(); !status.ok()) return status;
      if (Status status = try_pieces(); !status.ok()) return status;
      better = best_.seconds < before;
    }
    return best_;
  }

 private:
  Status try_channels() {
    const Plan from = best_.layout.plan;
    for (std::uint32_t channels = 1; channels <= kChannelsMost; channels *= 2) {
      if (channels > 1 && demand_.bytes / channels < kPieceBytesLeast) break;
      if (Status status = try_cut(from.piece_elements, channels); !status.ok()) return status;
    }
    return ok_status();
  }
  Status try_pieces() {
    const std::uint32_t channels = best_.layout.plan.channels;
    if (Status status = try_cut(0, channels); !status.ok()) return status;
    for (std::uint64_t bytes = kPieceBytesLeast; bytes <= kPieceBytesMost && bytes < demand_.bytes / channels;
         bytes *= 4) {
      if (Status status = try_cut(bytes / Demand::kElementBytes, channels); !status.ok()) return status;
    }
    return ok_status();
  }
  Status try_cut(std::uint64_t piece_elements, std::uint32_t channels) {
    Forecast trial = best_;
    Plan& plan = trial.layout.plan;
    if (plan.piece_elements == piece_elements && plan.channels == channels) return ok_status();
    plan.piece_elements = piece_elements;
    plan.channels = channels;
    const bool allowed = check_plan(plan, demand_.operation, trial.layout.size()).ok();
    if (!allowed) return ok_status();
    const double messages = estimated_messages(topology_, demand_, trial.layout);
    if (messages_ + messages > kTuneMessagesMax) return ok_status();
    messages_ += messages;
    const auto seconds = estimated_seconds(topology_, demand_, trial.layout, best_.seconds);
    if (!seconds.ok()) return seconds.status();
    trial.seconds = *seconds;
    trial.pipelined = piece_elements > 0 || channels > 1;
    if (trial.seconds < best_.seconds) best_ = std::move(trial);
    return ok_status();
  }

  const Topology& topology_;
  const Demand& demand_;
  Forecast best_;
  double messages_ = 0;
};

}  // namespace

Result<Forecast> tune(const Topology& topology, const Demand& demand, Forecast start) {
  return Trials(topology, demand, std::move(start)).run();
}

}  // namespace thalweg
