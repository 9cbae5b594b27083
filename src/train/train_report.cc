// Grammar of a text, little-endian: (1:u8 epoch:u32 index:u32 bytes:u32 text_of_one)* text_of_one
// text_of_one: 0:u8 report, where a report is loss:f64 weight:f64 pass_rows:u64 skipped:u64 fraction:f32
//   inputs:u64 inputs_name:text points:u32 (number:u32 hash:u64 where:text)*points read_all:u64 unpacked:u64
//   rows:u32 weighted:u32
//   score:f32*rows label:f32*rows weight:f32*(rows if weighted else 0)
//   held_out:u8, and if that is not 0 what HeldOutSummary::put() says
#include "train/train_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bytes.h"
#include "base/limits.h"

namespace thalweg {
namespace {

constexpr std::size_t kNameBytesMax = 1024;

// How a text begins.
enum class Begin : std::uint8_t { kReport, kAnother };

struct PartOfText {
  ReportId id;
  std::string_view report;  // As decode() takes it.
};

// The reports of a text; none where it is not made so.
std::vector<PartOfText> parts_of(ReportId id, std::string_view text) {
  std::vector<PartOfText> parts;
  while (!text.empty() && text.front() == static_cast<char>(Begin::kAnother)) {
    Reader in(std::as_bytes(std::span(text)).subspan(1));
    const auto epoch = in.get<std::uint32_t>(), index = in.get<std::uint32_t>();
    const auto bytes = in.get<std::uint32_t>();
    constexpr std::size_t kBefore = 1 + 3 * sizeof(std::uint32_t);
    if (text.size() <= kBefore || bytes == 0 || bytes > text.size() - kBefore) return {};
    const std::string_view one = text.substr(kBefore, bytes);
    const ReportId its{epoch, index};
    if (one.front() != static_cast<char>(Begin::kReport) || !(its < id)) return {};
    if (!parts.empty() && !(parts.back().id < its)) return {};
    parts.push_back({its, one.substr(1)});
    text.remove_prefix(kBefore + bytes);
  }
  if (text.empty() || text.front() != static_cast<char>(Begin::kReport)) return {};
  parts.push_back({id, text.substr(1)});
  return parts;
}

bool decode(std::string_view text, Loss loss, TrainReport& out) {
  Reader in(std::as_bytes(std::span(text)));
  out.sum.loss = in.get<double>();
  out.sum.weight = in.get<double>();
  out.sum.rows = in.get<std::uint64_t>();
  out.pass_rows = in.get<std::uint64_t>();
  out.skipped_rows = in.get<std::uint64_t>();
  out.fraction_done = in.get<float>();
  out.inputs = in.get<std::uint64_t>();
  out.inputs_name = in.get_text(kNameBytesMax);
  out.read.resize(in.get_count(kReadPointsMax, sizeof(std::uint32_t) + sizeof(std::uint64_t)));
  for (ReadPoint& point : out.read) {
    point.number = in.get<std::uint32_t>();
    point.hash = in.get<std::uint64_t>();
    point.where = in.get_text(kNameBytesMax);
  }
  out.read_all = in.get<std::uint64_t>();
  out.unpacked = in.get<std::uint64_t>();
  const std::uint32_t rows = in.get_count(~0u, 2 * sizeof(float));
  const bool weighted = in.get<std::uint32_t>() != 0;
  for (auto* values : {&out.scores, &out.labels, &out.weights}) {
    if (values == &out.weights && !weighted) break;
    values->resize(rows);
    for (float& value : *values) value = in.get<float>();
  }
  if (in.get<std::uint8_t>() != 0) out.held_out = HeldOutSummary::get(in, loss);
  return in.done();
}

}  // namespace

void TrainReport::add_sampled(float score, float label, float weight) {
  if (weight != 1 || !weights.empty()) {
    weights.resize(scores.size(), 1.0f);
    weights.push_back(weight);
  }
  scores.push_back(score);
  labels.push_back(label);
}

std::string to_text(const TrainReport& report) {
  Writer out;
  out.put(Begin::kReport)
      .put(report.sum.loss)
      .put(report.sum.weight)
      .put(report.sum.rows)
      .put(report.pass_rows)
      .put(report.skipped_rows)
      .put(report.fraction_done)
      .put(report.inputs)
      .put_text(std::string_view(report.inputs_name).substr(0, kNameBytesMax))
      .put(static_cast<std::uint32_t>(report.read.size()));
  for (const ReadPoint& point : report.read) {
    out.put(point.number).put(point.hash).put_text(std::string_view(point.where).substr(0, kNameBytesMax));
  }
  out.put(report.read_all).put(report.unpacked);
  out.put(static_cast<std::uint32_t>(report.scores.size()));
  out.put(static_cast<std::uint32_t>(report.weights.empty() ? 0 : 1));
  for (const auto* values : {&report.scores, &report.labels, &report.weights}) {
    for (const float value : *values) out.put(value);
  }
  out.put(static_cast<std::uint8_t>(report.held_out ? 1 : 0));
  if (report.held_out) report.held_out->put(out);
  return std::string(out.take().text());
}

std::string joined(const std::vector<NumberedReport>& reports) {
  std::string text;
  for (std::size_t i = 0; i + 1 < reports.size(); ++i) {
    const auto& [id, one] = reports[i];
    Writer before;
    before.put(Begin::kAnother).put(id.epoch).put(id.index).put(static_cast<std::uint32_t>(one.size()));
    text += before.take().text();
    text += one;
  }
  return text + reports.back().text;
}

std::vector<LossSum> learnt_losses(ReportId id, std::string_view text) {
  std::vector<LossSum> losses;
  for (const PartOfText& part : parts_of(id, text)) {
    if (part.id.epoch % 2 != 0) continue;
    Reader in(std::as_bytes(std::span(part.report)));
    LossSum& sum = losses.emplace_back();
    sum.loss = in.get<double>();
    sum.weight = in.get<double>();
  }
  return losses;
}

TrainMonitor::TrainMonitor(Loss loss, std::uint32_t epochs, std::uint32_t shards, bool reordered)
    : loss_(loss),
      reordered_(reordered),
      passes_(epochs),
      shard_done_(shards),
      shard_epoch_(shards),
      newest_(shards),
      trained_(shards),
      scored_(shards),
      trained_text_(shards),
      scored_text_(shards) {}

void TrainMonitor::Epoch::add_sample(const TrainReport& report) {
  if (is_of_score(loss)) return sampled.add(report.scores, report.labels, report.weights);
  sampled.add_classes(report.sum, {}, {});
}

LossSum TrainMonitor::Epoch::trained() const {
  LossSum sum;
  for (const LossSum& shard : train) sum += shard;
  return sum;
}

MetricSums::Sums TrainMonitor::Epoch::held_out() const {
  MetricSums all = metrics.front();
  for (std::size_t s = 1; s < metrics.size(); ++s) all.merge(metrics[s]);
  return all.sums();
}

TrainMonitor::Pass TrainMonitor::Pass::take(std::uint32_t of_epoch, const TrainReport& report) {
  if (of_epoch != epoch) *this = {of_epoch, 0, 0};
  const Pass before = *this;
  rows = std::max(rows, report.pass_rows);
  skipped = std::max(skipped, report.skipped_rows);
  return {epoch, rows - before.rows, skipped - before.skipped};
}

void TrainMonitor::compare_inputs(ShardId shard, const TrainReport& report) {
  if (!inputs_) inputs_ = Inputs{shard, report.inputs, report.inputs_name};
  if (inputs_->fingerprint == report.inputs || !inputs_agree_.ok()) return;
  inputs_agree_ = {Code::kData,
                   fmt::format("data shard {} was read from {} and data shard {} from {}, which are not the "
                               "same files; give every worker the same ones in the same order",
                               inputs_->shard.value, inputs_->name, shard.value, report.inputs_name)};
}

// Each hash is of all text up to its point, so the first that differs tells between which two points to look.
void TrainMonitor::compare_text(ShardId shard, std::uint32_t epoch, Trail& trail, const TrainReport& report) {
  std::string from = "its begin";
  const auto differs = [&](const std::string& to) {
    if (!inputs_agree_.ok()) return;
    inputs_agree_ = {
        Code::kData,
        fmt::format(
            "data shard {} of {}, pass {}: between {} and {} stands something else than what was read there "
            "before; the file was changed meanwhile, or this worker's copy is another: give every "
            "worker the same files, leave them alone until the job has ended, and run it again",
            shard.value, report.inputs_name, epoch + 1, from, to)};
  };
  for (const ReadPoint& point : report.read) {
    if (trail.hashes.try_emplace(point.number, point.hash).first->second != point.hash)
      return differs(point.where);
    from = point.where;
  }
  if (report.read_all == 0) return;
  if (trail.all == 0) trail.all = report.read_all;
  if (trail.all != report.read_all) differs("the shard's end");
}

// Whoever reads packed files unpacks all of them, whichever shards are its own.
void TrainMonitor::compare_unpacked(ShardId shard, std::uint64_t& known, const TrainReport& report) {
  if (report.unpacked == 0 || !inputs_agree_.ok()) return;
  if (known == 0) known = report.unpacked;
  if (known == report.unpacked) return;
  inputs_agree_ = {
      Code::kData,
      fmt::format("{}: the worker of data shard {} unpacked another text than workers of others did; "
                  "give every worker the same files in the same order",
                  report.inputs_name, shard.value)};
}

bool TrainMonitor::add(ShardId shard, ReportId id, std::string_view text) {
  if (id.epoch / 2 >= passes_ || shard.value >= shard_done_.size()) return false;
  std::vector<std::pair<ReportId, TrainReport>> reports;
  for (const PartOfText& part : parts_of(id, text)) {
    reports.emplace_back().first = part.id;
    if (!decode(part.report, loss_, reports.back().second)) return false;
  }
  if (reports.empty()) return false;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, report] : reports) {
    if (number == id || newest_[shard.value] < number) add_one(shard, number, report);
  }
  newest_[shard.value] = std::max(newest_[shard.value], id);
  return true;
}

TrainMonitor::Epoch& TrainMonitor::of_pass(std::uint32_t epoch) {
  return epochs_.try_emplace(epoch, loss_, shard_done_.size()).first->second;
}

void TrainMonitor::add_one(ShardId shard, ReportId id, const TrainReport& report) {
  Epoch& epoch = of_pass(id.epoch / 2);
  const bool held_out = id.epoch % 2 == 1;
  compare_inputs(shard, report);
  Trail& trail = (held_out ? scored_text_ : trained_text_)[shard.value];
  if (reordered_ && !held_out && trail.epoch != id.epoch / 2) trail = Trail{{}, 0, id.epoch / 2};
  compare_text(shard, id.epoch / 2, trail, report);
  compare_unpacked(shard, held_out ? scored_unpacked_ : trained_unpacked_, report);
  const Pass fresh = (held_out ? scored_ : trained_)[shard.value].take(id.epoch / 2, report);
  if (id.epoch < 2) skipped_rows_ += fresh.skipped;
  if (held_out) {
    if (!report.held_out) return;
    epoch.has_valid = true;
    epoch.scored.insert(shard);
    epoch.metrics[shard.value] = report.held_out->metrics();
    if (!epoch.valid_auc) epoch.auc.merge(report.held_out->auc());
    return;
  }
  const auto weight = [&](std::size_t i) { return report.weights.empty() ? 1.0f : report.weights[i]; };
  for (std::size_t i = 0; i < report.scores.size(); ++i) {
    sampled_.add(report.scores[i], report.labels[i] > 0, weight(i));
  }
  if (report.fraction_done < 0 || report.fraction_done > 0.5f) epoch.add_sample(report);
  epoch.train[shard.value] += report.sum;
  epoch.rows += fresh.rows;
  epoch.steps = std::max(epoch.steps, id.index);
  if (begins_within_pass_ && newest_[shard.value] == ReportId{} && report.sum.rows == 0)
    steps_before_ = std::max(steps_before_, id.index);
  else
    examples_ += fresh.rows;
  shard_done_[shard.value] = report.fraction_done;
  shard_epoch_[shard.value] = id.epoch / 2;
}

Status TrainMonitor::inputs_agree() const {
  const std::lock_guard lock(mutex_);
  return inputs_agree_;
}

std::uint64_t TrainMonitor::inputs() const {
  const std::lock_guard lock(mutex_);
  return inputs_ ? inputs_->fingerprint : 0;
}

TrainNumbers TrainMonitor::numbers() const {
  const std::lock_guard lock(mutex_);
  TrainNumbers out;
  out.examples = examples_;
  out.skipped_rows = skipped_rows_;
  for (const auto& [number, epoch] : epochs_) out.steps += epoch.steps;
  out.steps -= steps_before_;
  const auto trained = [this](std::uint32_t epoch) {
    const auto found = epochs_.find(epoch);
    return found == epochs_.end() ? LossSum() : found->second.trained();
  };
  out.progressive = trained(0);
  out.sampled_auc = sampled_.value();
  out.epoch = *std::max_element(shard_epoch_.begin(), shard_epoch_.end());
  out.last = trained(out.epoch);
  double done = 0;
  bool known = true;
  for (std::size_t s = 0; s < shard_done_.size(); ++s) {
    known = known && shard_done_[s] >= 0;
    done += shard_epoch_[s] + shard_done_[s];
  }
  out.done = known ? done / static_cast<double>(shard_done_.size() * passes_) : -1;
  return out;
}

std::uint32_t TrainMonitor::passes_begun() const {
  const std::lock_guard lock(mutex_);
  return epochs_.empty() ? 0 : epochs_.rbegin()->first + 1;
}

bool TrainMonitor::is_scored(std::uint32_t epoch) const {
  const std::lock_guard lock(mutex_);
  const auto found = epochs_.find(epoch);
  return found != epochs_.end() && found->second.scored.size() == shard_done_.size();
}

EpochNumbers TrainMonitor::epoch_numbers(std::uint32_t epoch) {
  const std::lock_guard lock(mutex_);
  Epoch& e = of_pass(epoch);
  if (!e.valid_auc) {
    AucCounts counts = std::exchange(e.auc, AucCounts(0));
    e.valid_auc = counts.value();
    e.valid_precision = counts.average_precision();
  }
  const Measured valid{e.held_out(), *e.valid_auc, e.valid_precision};
  const bool measured = e.has_valid && valid.sums.weight > 0;
  return {e.trained(), e.rows, e.steps, {e.sampled.sums()}, valid, measured};
}

}  // namespace thalweg
