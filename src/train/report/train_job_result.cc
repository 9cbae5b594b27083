// The part of TrainJob that says what it has come to: while it runs, and at its end.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/hint.h"
#include "train/advice/train_advice.h"
#include "train/report/told_pass.h"
#include "train/report/train_costs.h"
#include "train/train_job.h"

namespace thalweg {
namespace {

constexpr const char* kLostHint =
    "start the job again: what a lost node held is gone. Signal 9 that nobody sent is the kernel's when "
    "memory runs out, see dmesg";

// A look at the first rows may find no click, and a sample of all of them; scarcely both, if there are some.
std::string no_click(std::uint64_t rows_without, const std::vector<EpochNumbers>& epochs) {
  if (rows_without == 0 || epochs.empty()) return {};
  const MetricSums::Sums& sampled = epochs.back().sampled.sums;
  if (sampled.weight == 0 || sampled.label != 0) return {};
  return fmt::format(
      "none of the training rows that were looked at has the label 1, the first {} and a sample of {} from "
      "everywhere: no features are needed to predict that; expected rows with a click, too",
      rows_without, sampled.rows);
}

}  // namespace

TrainProgress TrainJob::progress(const ClusterView& view) const {
  const TrainNumbers numbers = monitor_->numbers();
  TrainProgress p;
  p.epoch = numbers.epoch + 1;
  p.examples = numbers.examples;
  if (numbers.done >= 0) p.done = numbers.done;
  if (numbers.last.weight > 0) p.train_loss = mean_loss(numbers.last);
  if (spec().model.loss == Loss::kLogistic && std::isfinite(numbers.sampled_auc)) p.auc = numbers.sampled_auc;
  p.costs = costs_of(view.counters, numbers.steps);
  p.workers_alive = view.workers;
  p.servers_alive = view.servers;
  return p;
}

std::map<std::string, double> TrainJob::metrics() const {
  std::map<std::string, double> out;
  const TrainNumbers numbers = monitor_->numbers();
  out["examples"] = static_cast<double>(numbers.examples);
  if (numbers.last.weight > 0) out["train_loss"] = mean_loss(numbers.last);
  if (numbers.progressive.weight > 0) out["progressive_loss"] = mean_loss(numbers.progressive);
  const auto kept = stage_->passes();
  if (kept.empty() || !kept.back().has_valid) return out;
  const Loss loss = spec().model.loss;
  for (const Metric* metric : thalweg::metrics(options_.more.metrics)) {
    if (metric->told(loss) < Told::kEachPass) continue;
    out[fmt::format("valid_{}", metric->name)] = metric->value(loss, kept.back().valid);
  }
  return out;
}

Status TrainJob::outcome(const Status& of_cluster, bool closed) const {
  if (ending_ && of_cluster.code() == Code::kAborted) return with_way_on(of_cluster);
  if (of_cluster.code() == Code::kPeerLost)
    return keeper_ != nullptr && !keeper_->newest().empty() ? with_way_on(of_cluster)
                                                            : with_hint(of_cluster, kLostHint);
  if (!of_cluster.ok()) return with_cause(of_cluster, inputs_->train.get());
  if (!collected_)
    return {Code::kRefused, "the job was ended before its model was collected; nothing is saved"};
  if (!stage_->saved_elsewhere().ok()) return stage_->saved_elsewhere();
  if (closed) return interrupted("what was learnt so far", not_kept_, options_.out);
  // Where the model is saved, it may do better on rows that are like those it was trained on.
  const auto held_out = on_held_out_rows(JudgedBy(spec().model), stage_->passes());
  std::string text = held_out ? diverged(*held_out) : std::string();
  if (text.empty()) return ok_status();
  if (!not_kept_.empty()) text += ", and the model is not saved";
  return with_cause({Code::kNonFinite, text}, inputs_->train.get());
}

void TrainJob::sum_up(const ClusterView& view, bool closed, TrainResult& result) const {
  const TrainNumbers numbers = monitor_->numbers();
  result.model = stage_->saved_to();
  result.model_digest = stage_->digest();
  result.model_rows = stage_->rows();
  result.examples = numbers.examples;
  result.skipped_rows = numbers.skipped_rows;
  result.train_loss = mean_loss(numbers.last);
  result.progressive_loss = mean_loss(numbers.progressive);
  for (std::size_t i = 0; i < passes_.all().size(); ++i) {
    result.epochs.push_back(
        told_pass(passes_.all()[i], passes_.number(i), spec().model.loss, options_.more.metrics));
  }
  const double trained_s = std::chrono::duration<double>(trained_ - begun_).count();
  if (trained_s > 0) result.samples_per_second = static_cast<double>(numbers.examples) / trained_s;
  const auto kept = stage_->passes();
  if (!kept.empty() && !kept.back().cut_short) result.kept_epoch = passes_.number(kept.size() - 1);
  result.not_kept = not_kept_;
  if (!kept.empty() && kept.back().has_valid) {
    const Measured& valid = kept.back().valid;
    result.valid_loss = mean_of(valid.sums.loss, valid);
    if (const double accuracy = kAccuracy.value(spec().model.loss, valid); !std::isnan(accuracy))
      result.valid_accuracy = accuracy;
  }
  if (const auto best = best_epoch(spec().model.loss, passes_.all()))
    result.best_epoch = passes_.number(*best);
  result.failovers = view.failovers;
  add_costs(view.counters, numbers.steps, result);
  add_words(closed, result);
}

void TrainJob::add_costs(const Counters& counted, std::uint64_t steps, TrainResult& result) const {
  const TrainCosts all = costs_of(counted, steps);
  result.steps = all.steps;
  result.pushes_dropped = counted[CounterId::kPushesDropped];
  result.pushed_bytes = all.bytes_pushed;
  result.bytes_sent = all.bytes_sent;
  result.staleness_mean = all.staleness_mean;
  result.staleness_max = all.staleness_max;
  result.staleness_p99 = staleness_p99(counted);
  result.led_pulls = led_pulls(counted);
  const auto waited_ns = static_cast<double>(counted[CounterId::kShardWaitNs]);
  const auto time_ns = static_cast<double>(counted[CounterId::kShardTimeNs]);
  if (time_ns > 0) result.idle_share = waited_ns / time_ns;
  result.exchange_seconds_exposed = waited_ns / 1e9 / spec().shards;
}

void TrainJob::add_words(bool closed, TrainResult& result) const {
  const Loss loss = spec().model.loss;
  const auto kept = stage_->passes();
  const bool measured = !kept.empty() && kept.back().has_valid;
  const std::vector<EpochNumbers>& all = passes_.all();
  const bool whole = !closed && (all.empty() || !all.back().cut_short);
  if (kept.size() < all.size())
    result.notes.push_back(fmt::format("the model is that of epoch {}, which was best on held-out rows",
                                       passes_.first() + kept.size()));
  else if (std::string text = overfitted(loss, all); !text.empty())
    result.notes.push_back(std::move(text));
  const JudgedBy judged(spec().model);
  std::vector<std::string> warnings;
  if (measured) warnings.push_back(one_label(loss, kept.back().valid));
  warnings.push_back(no_click(rows_without_click_, all));
  if (not_kept_.empty()) {
    warnings.push_back(nothing_weighed(kept));
    warnings.push_back(worse_by(judged, kept, learnt_));
  }
  if (spec().has_valid() && whole && !measured) {
    const bool weightless = !all.empty() && all.back().valid.sums.rows > 0;
    warnings.push_back(
        weightless ? "all held-out rows have the weight 0, so that nothing is measured on them"
        : spec().valid.part == Part::kAll
            ? "--valid: no row of it could be read"
            : fmt::format("--valid-part {} held out no row: the input has fewer", spec().valid.part_modulus));
  }
  for (std::string& text : warnings) {
    if (!text.empty()) result.warnings.push_back(std::move(text));
  }
}

}  // namespace thalweg
