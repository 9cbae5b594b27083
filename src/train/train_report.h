// What a data shard tells the job's reporter, and the sums that the reporter keeps.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "model/metric/metric.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"
#include "train/held_out_summary.h"

namespace thalweg {

// What had been read of a shard's text when the batches up to some number were made of it.
struct ReadPoint {
  std::uint32_t number = 0;  // Points of a pass are numbered 0, 1, 2, ... without gaps.
  std::uint64_t hash = 0;    // RowReader::text_hash()
  std::string where;         // RowReader::text_end()
};
// How many points a report repeats. An heir may begin one point before or behind the last one that its
// predecessor reported.
inline constexpr std::size_t kReadPointsMax = 3;

// A part of a shard's work since its last report. Numbered (2 * epoch, step) while training and (2 * epoch +
// 1, part) while scoring the held-out rows after that epoch. Rows are counted from the begin of the pass,
// since the heir of a shard knows of all of them and not which ones its predecessor has reported.
struct TrainReport {
  LossSum sum;                     // Training: losses before each batch's update; of rows that were reported.
  std::uint64_t pass_rows = 0;     // Training: rows of this pass that have been learnt.
  std::uint64_t skipped_rows = 0;  // Bad rows left out in this pass.
  float fraction_done = 0;         // Training: of this pass over the shard; below 0 when not known.
  std::uint64_t inputs = 0;        // TrainInputs::fingerprint of the shard's worker,
  std::string inputs_name;         // and what its user calls them.
  std::vector<ReadPoint> read;     // The newest points of this pass, at most kReadPointsMax.
  std::uint64_t read_all = 0;      // Once the pass has read all of the shard: the hash of that text; else 0.
  std::uint64_t unpacked = 0;      // Then, of packed files: RowReader::hash_of_all().
  std::vector<float> scores;       // Training: a sample of the rows.
  std::vector<float> labels;
  std::vector<float> weights;              // Empty when all are 1.
  std::optional<HeldOutSummary> held_out;  // Of all of the shard's, with the last part.

  // One more row of the sample.
  void add_sampled(float score, float label, float weight);
};
std::string to_text(const TrainReport& report);

struct NumberedReport {
  ReportId id;
  std::string text;  // Of one report.
};
// Reports of a shard that travel together, by ascending numbers; the last one's is that of all of them.
// Precondition: there is one.
std::string joined(const std::vector<NumberedReport>& reports);
// The training losses that a text with this number tells of, one a report; none of what is no report.
std::vector<LossSum> learnt_losses(ReportId id, std::string_view text);

// Of one pass.
struct EpochNumbers {
  LossSum train;
  std::uint64_t rows = 0;   // Trained on.
  std::uint64_t steps = 0;  // Of the shard that made most.
  // Of a sample of them, of classes and bytes of all, each scored before it was learnt, from the pass's
  // latter half where shards report more than once in a pass.
  Measured sampled;
  Measured valid;
  bool has_valid = false;          // There are held-out rows that weigh something.
  bool cut_short = false;          // The job was asked to end early before the pass had ended.
  std::uint64_t steps_before = 0;  // In all passes before.
  Instant ended{};                 // By the job's clock.
};

struct TrainNumbers {
  std::uint64_t skipped_rows = 0;  // Bad rows left out in the first pass, held-out ones included.
  std::uint64_t examples = 0;      // Trained on in this run, over all passes.
  std::uint64_t steps = 0;         // The same, in each of the shard that made most.
  double done = 0;                 // Part of the whole job, 0 to 1; below 0 when not known.
  std::uint32_t epoch = 0;
  LossSum progressive;     // First pass: every row was scored before it was learnt.
  LossSum last;            // Newest pass.
  double sampled_auc = 0;  // Progressive, from a sample of the rows; NaN before both labels were seen.
};

// Thread-safe: fed by the scheduler's thread, read by the one that shows progress.
class TrainMonitor {
 public:
  // Memory for the AUC of held-out rows: 50 MB at most of a pass that has not been asked for yet.
  // `reordered`: each pass reads the text in another order.
  TrainMonitor(Loss loss, std::uint32_t epochs, std::uint32_t shards, bool reordered = false);
  // The job may go on from within a pass: rows of a shard's first report that it did not learn are from
  // before this run.
  void begin_within_pass() { begins_within_pass_ = true; }
  // False when the text is no report, nor are several. Of several, those up to the number of an earlier text
  // are left out.
  bool add(ShardId shard, ReportId id, std::string_view text);
  // kData once two shards have been read from different files, or what was read of one differs from what
  // another worker or an earlier pass has read there.
  Status inputs_agree() const;
  // TrainReport::inputs of the first report; 0: there is none yet.
  std::uint64_t inputs() const;
  TrainNumbers numbers() const;
  // Of pass `epoch`. What is reported later of its held-out rows does not count in their AUC.
  EpochNumbers epoch_numbers(std::uint32_t epoch);
  // Up to the last that a shard has reported of.
  std::uint32_t passes_begun() const;
  // Whether every shard has told of its held-out rows after pass `epoch`.
  bool is_scored(std::uint32_t epoch) const;

 private:
  // Sums are kept by shard, so that the order in which reports of different shards come changes no bit of
  // them.
  struct Epoch {
    Epoch(Loss of, std::size_t shards)
        : loss(of), train(shards), metrics(shards, MetricSums(of)), sampled(of) {}
    void add_sample(const TrainReport& report);
    LossSum trained() const;
    MetricSums::Sums held_out() const;
    Loss loss;
    std::vector<LossSum> train;
    std::uint64_t rows = 0;
    std::uint32_t steps = 0;
    std::vector<MetricSums> metrics;
    MetricSums sampled;
    AucCounts auc{HeldOutSummary::kCellsMax};
    std::optional<double> valid_auc{};  // Once it was asked for.
    double valid_precision = 0;         // Then.
    bool has_valid = false;
    std::set<ShardId> scored{};
  };
  // What one shard has told of its newest pass.
  struct Pass {
    std::uint32_t epoch = 0;
    std::uint64_t rows = 0;
    std::uint64_t skipped = 0;
    // What `report` tells beyond that.
    Pass take(std::uint32_t of_epoch, const TrainReport& report);
  };
  // What was read of a shard, in all passes alike, or where they are reordered in the newest.
  struct Trail {
    std::map<std::uint32_t, std::uint64_t>
        hashes;             // By point; of those that an owner died with there is none.
    std::uint64_t all = 0;  // Of the whole shard; 0: not known yet.
    std::uint32_t epoch = 0;
  };
  Epoch& of_pass(std::uint32_t epoch);
  void add_one(ShardId shard, ReportId id, const TrainReport& report);
  void compare_inputs(ShardId shard, const TrainReport& report);
  void compare_text(ShardId shard, std::uint32_t epoch, Trail& trail, const TrainReport& report);
  void compare_unpacked(ShardId shard, std::uint64_t& known, const TrainReport& report);

  mutable std::mutex mutex_;
  Loss loss_;
  bool reordered_;
  bool begins_within_pass_ = false;
  std::uint32_t steps_before_ = 0;         // Of that pass, before this run.
  std::uint32_t passes_;                   // That there are to be.
  std::map<std::uint32_t, Epoch> epochs_;  // Those of which there has been a report.
  std::vector<double> shard_done_;
  std::vector<std::uint32_t> shard_epoch_;
  std::vector<ReportId> newest_;        // By shard.
  std::vector<Pass> trained_, scored_;  // By shard.
  std::vector<Trail> trained_text_, scored_text_;
  std::uint64_t trained_unpacked_ = 0,
                scored_unpacked_ = 0;  // Of all packed text, by the first who had all of it.
  // Of the first report.
  struct Inputs {
    ShardId shard;
    std::uint64_t fingerprint = 0;
    std::string name;
  };
  std::optional<Inputs> inputs_;
  Status inputs_agree_;
  AucHistogram sampled_;
  std::uint64_t skipped_rows_ = 0;
  std::uint64_t examples_ = 0;
};

}  // namespace thalweg
