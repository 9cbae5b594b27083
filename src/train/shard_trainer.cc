#include "train/shard_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/barriers.h"
#include "model/model.h"
#include "model/model_kind.h"
#include "train/plan/algorithm_plan.h"
#include "train/report/shard_reports.h"
#include "train/rows/key_ages.h"
#include "train/rows/untaught_rows.h"
#include "train/train_report.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kStepsPerReport = 8;
constexpr std::size_t kSampleEvery = 16;    // Rows whose score goes into the progressive AUC.
constexpr std::size_t kScoringRows = 4096;  // Rows of a batch that is only scored.
// A batch's rows as servers keep them for replays, as the shard has them joined, their gradients, and sums.
constexpr std::uint64_t kCopiesOfRows = 4;

class ShardTrainer {
 public:
  ShardTrainer(Store& store, std::shared_ptr<const TrainInputs> inputs)
      : store_(store),
        inputs_(std::move(inputs)),
        spec_(inputs_->spec),
        reports_(store, inputs_->fingerprint, inputs_->name) {}

  Task<Status> run();

 private:
  Task<Status> prepare(BatchSource& source, std::size_t rows_max, PreparedRef& out);
  // The pulls of a batch, one a table; and their rows once they have come, as rows_.
  std::vector<Pending> ask(const Prepared& prepared, bool read_only);
  Task<Status> receive(std::vector<Pending> pending);
  Task<Status> train_pass(BatchSource& source);
  Task<Status> recount_pass(BatchSource& source, std::uint32_t epoch);
  bool takes_part(std::uint32_t epoch) const;
  Task<Status> step(const Prepared& current, PreparedRef& next, BatchSource& source);
  Task<Status> score_held_out(std::uint32_t epoch);
  // Puts report_ into reports_.
  Task<Status> report(ReportId id, const ReadPlace& place);
  // Room for the batches of a data set that is read several times; null where it is too large to try.
  StepMemory* room_for(const DataSet& data) const;
  Status open_held_out();
  Result<BatchSource> source_of(DataSet& data, KeptPasses::Rows rows, std::uint32_t epoch);
  // For the next training on these rows, if there is one.
  void hand_on(BatchSource& source, KeptPasses::Rows rows);
  Task<Status> wait_for_counts();
  Status learn(const Prepared& prepared);
  // Room for a batch's rows and gradients, before they are asked for. kData: there is none.
  Result<StepMemory::Share> reserve(const Prepared& prepared) const;
  // A status of the store's; kData, of a server whose tables have no room, also says what asks for it.
  Status explained(Status status) const;
  std::string what_asks() const;
  Pending request(TableId table, const Prepared& prepared, bool read_only);

  Store& store_;
  std::shared_ptr<const TrainInputs> inputs_;
  const TrainSpec& spec_;
  std::unique_ptr<Model> model_;
  bool is_dense_ = false;
  std::vector<TableSpec> tables_;
  std::vector<Rows> rows_;  // By table, of the batch being worked on.
  std::vector<std::span<const float>> row_spans_;
  bool late_ = false;  // No server takes anything for the present step any more.
  std::vector<float> scores_;
  TrainReport report_;
  ShardReports reports_;
  std::uint64_t pass_rows_ = 0;  // Of this pass, learnt here or by an earlier owner.
  std::optional<BatchSource> held_out_;
  std::optional<PassRows> held_out_rows_;  // What a pass over the held-out rows found.
};

Task<Status> ShardTrainer::prepare(BatchSource& source, std::size_t rows_max, PreparedRef& out) {
  for (;;) {
    const Status status = source.next(rows_max, inputs_->benches->mine(), out);
    if (status.code() != Code::kRetry) co_return status;
    // Other shards of this process read the same stream and must catch up, or its writer must.
    if (const Status waited = (co_await store_.yield()).status; !waited.ok()) co_return waited;
    if (!store_.closing()) continue;
    out = std::make_shared<Prepared>();  // The stream may never go on.
    co_return ok_status();
  }
}

Pending ShardTrainer::request(TableId table, const Prepared& prepared, bool read_only) {
  const bool dense = tables_[table.value].kind == TableSpec::Kind::kDense;
  Keys keys = dense ? Keys::block(0, tables_[table.value].rows) : prepared.keys;
  return read_only ? store_.read(table, std::move(keys)) : store_.pull(table, std::move(keys));
}

std::vector<Pending> ShardTrainer::ask(const Prepared& prepared, bool read_only) {
  std::vector<Pending> pending;
  for (std::uint16_t t = 0; t < tables_.size(); ++t)
    pending.push_back(request(TableId{t}, prepared, read_only));
  return pending;
}

Result<StepMemory::Share> ShardTrainer::reserve(const Prepared& prepared) const {
  std::uint64_t row_floats = 0;
  for (const TableSpec& table : tables_) {
    if (table.kind == TableSpec::Kind::kSparse) row_floats += table.dim;
  }
  const std::uint64_t keys = prepared.batch.keys().size();
  const std::uint64_t bytes = kCopiesOfRows * keys * row_floats * sizeof(float);
  StepMemory& memory = *inputs_->memory;
  const std::uint64_t used = memory.used();
  if (StepMemory::Share share = memory.take(bytes)) return share;
  return Status(
      Code::kData,
      fmt::format("{}: a batch of {} rows has {} features of {} floats each, and its step takes about "
                  "{} MiB where steps may take {} MiB and {} MiB are in use{}",
                  inputs_->name, prepared.rows, keys, row_floats, bytes >> 20, memory.max() >> 20, used >> 20,
                  what_asks()));
}

std::string ShardTrainer::what_asks() const {
  const ModelSpec& model = spec_.model;
  std::string text;
  const auto kind = find_kind(model);
  const bool fields = kind.ok() && (*kind)->fields;
  if (fields) {
    text = fmt::format("; model {} has {} fields of rank {}{}{}", model.name, model.fields, model.rank,
                       spec_.fields_from.empty() ? "" : ", by ", spec_.fields_from);
  } else if (kind.ok() && (*kind)->factors) {
    text = fmt::format("; model {} has rank {}", model.name, model.rank);
  }
  return text + (fields ? "\nhint: number the fields from 0 without gaps, " : "\nhint: ") +
         "lower --batch or --rank, hash to fewer features by --hash-bits, or allow more by --memory";
}

Status ShardTrainer::explained(Status status) const {
  if (status.code() != Code::kData) return status;
  return {status.code(), inputs_->name + ": " + status.message() + what_asks()};
}

Task<Status> ShardTrainer::receive(std::vector<Pending> pending) {
  late_ = true;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    Answer answer = co_await pending[t];
    if (!answer.status.ok()) co_return explained(answer.status);
    late_ = late_ && answer.late;
    rows_[t] = std::move(answer.rows);
    row_spans_[t] = rows_[t].span();
  }
  co_return ok_status();
}

Status ShardTrainer::learn(const Prepared& prepared) {
  // The model writes all of them: to set them to 0 first would take as long as a small step.
  std::vector<std::shared_ptr<float[]>> grads(tables_.size());
  std::vector<std::span<float>> grad_spans(tables_.size());
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    grads[t] = std::make_shared_for_overwrite<float[]>(rows_[t].size());
    grad_spans[t] = {grads[t].get(), rows_[t].size()};
  }
  scores_.resize(prepared.rows);
  store_.learnt(prepared.rows);
  const auto push = [&](std::size_t t) {
    const bool dense = tables_[t].kind == TableSpec::Kind::kDense;
    Keys keys = dense ? Keys::block(0, tables_[t].rows) : prepared.keys;
    store_.push(TableId{static_cast<std::uint16_t>(t)}, std::move(keys), Rows(grads[t], grad_spans[t]))
        .forget();
  };
  const LossSum sum = model_->gradient_by_table(prepared.batch, row_spans_, scores_, grad_spans, push);
  if (!std::isfinite(sum.loss)) {
    Status failed = model_->failure();
    return failed.ok() ? Status(Code::kNonFinite, "the loss is no longer finite") : failed;
  }
  if (spec_.expire_after != 0) {
    const auto ages = TableId{static_cast<std::uint16_t>(tables_.size())};
    store_.push(ages, prepared.keys, Rows(age_rows(prepared.keys.size(), store_.step()))).forget();
  }
  report_.sum += sum;
  pass_rows_ += prepared.rows;
  const Batch& batch = prepared.batch.rows();
  for (std::size_t r = 0; r < prepared.rows && is_of_score(spec_.model.loss); r += kSampleEvery) {
    report_.add_sampled(scores_[r], batch.labels[r], batch.weights.empty() ? 1.0f : batch.weights[r]);
  }
  return ok_status();
}

// One step on `current`; `next` is prepared while the rows are on their way.
Task<Status> ShardTrainer::step(const Prepared& current, PreparedRef& next, BatchSource& source) {
  const auto memory = reserve(current);
  if (!memory) co_return memory.status();
  std::vector<Pending> pending = ask(current, false);
  (void)co_await store_.yield();  // Lets the requests leave before the long work of preparing.
  if (Status status = co_await prepare(source, spec_.shard_batch_rows(), next); !status.ok())
    co_return status;
  if (Status status = co_await receive(std::move(pending)); !status.ok()) co_return status;
  if (!late_) {  // Else it catches up, and these rows teach nothing.
    if (Status status = learn(current); !status.ok()) co_return status;
  }
  rows_.assign(rows_.size(), Rows());  // Before those of the next step come.
  co_return explained((co_await store_.advance()).status);
}

Task<Status> ShardTrainer::report(ReportId id, const ReadPlace& place) {
  report_.fraction_done = inputs_->train->total_bytes() > 0 ? static_cast<float>(place.fraction_done) : -1.0f;
  report_.pass_rows = pass_rows_;
  reports_.note_text(report_, place);
  TrainReport report = std::exchange(report_, {});
  co_return explained(co_await reports_.put(id, std::move(report)));
}

bool ShardTrainer::takes_part(std::uint32_t epoch) const {
  const auto chosen = algorithm_of(spec_);
  if (!chosen || chosen->algorithm->takes_part == nullptr) return true;
  return chosen->algorithm->takes_part(chosen->values, algorithm_shard(spec_, store_.shard(), nullptr),
                                       epoch);
}

Task<Status> ShardTrainer::train_pass(BatchSource& source) {
  PreparedRef current, next;
  const std::uint32_t epoch = store_.step().epoch;
  pass_rows_ = 0;
  reports_.begin_pass();
  if (!takes_part(epoch)) {
    source.pass_over();
    co_return explained((co_await store_.end_epoch()).status);
  }
  const auto note = [&](std::uint32_t batch) {
    if (batch % kStepsPerReport == 0 && current->rows > 0)
      reports_.note_point(batch / kStepsPerReport, source.place());
  };
  // An heir walks over the batches that its predecessor finished, and says what it found there. A
  // checkpoint's step may lie beyond the last of them.
  const std::uint32_t walks = store_.step().index;
  std::uint32_t walked = 0;
  bool ended = false;
  while (walked < walks && !ended && !store_.closing()) {
    if (Status status = co_await prepare(source, spec_.shard_batch_rows(), current); !status.ok())
      co_return status;
    ended = current->rows == 0;
    pass_rows_ += current->rows;
    note(walked);
    if (!ended) ++walked;
  }
  if (!ended) {
    if (Status status = co_await prepare(source, spec_.shard_batch_rows(), current); !status.ok())
      co_return status;
    note(walked);
  }
  if (walked > 0) {  // Is known before it learns anything: another file would be found out by that.
    if (Status status = co_await report({2 * epoch, walked}, source.place()); !status.ok()) co_return status;
    if (Status status = co_await reports_.drain(); !status.ok()) co_return explained(status);
  }
  while (current->rows > 0 && !store_.closing()) {
    if (Status status = co_await step(*current, next, source); !status.ok()) co_return status;
    std::swap(current, next);
    note(store_.step().index);
    const bool last = current->rows == 0;
    if (last || store_.step().index % kStepsPerReport == 0) {
      const ReportId id{2 * epoch, store_.step().index};
      if (Status status = co_await report(id, source.place()); !status.ok()) co_return status;
    }
  }
  // Ahead of the reports: others may wait for this shard's next step, or for its end.
  if (const Status status = (co_await store_.end_epoch()).status; !status.ok()) co_return explained(status);
  co_return explained(co_await reports_.drain());
}

// Of a pass that a former owner has ended, and may have died before all of it was told.
Task<Status> ShardTrainer::recount_pass(BatchSource& source, std::uint32_t epoch) {
  if (!takes_part(epoch)) {
    source.pass_over();
    co_return ok_status();
  }
  pass_rows_ = 0;
  reports_.begin_pass();
  PreparedRef batch;
  for (std::uint32_t steps = 0; !store_.closing(); ++steps) {
    if (Status status = co_await prepare(source, spec_.shard_batch_rows(), batch); !status.ok())
      co_return status;
    pass_rows_ += batch->rows;
    if (batch->rows == 0) {
      const ReportId id{2 * epoch, steps};
      if (Status status = co_await report(id, source.place()); !status.ok()) co_return status;
      break;
    }
    if (steps % kStepsPerReport == 0) reports_.note_point(steps / kStepsPerReport, source.place());
  }
  co_return explained(co_await reports_.drain());
}

StepMemory* ShardTrainer::room_for(const DataSet& data) const {
  constexpr std::uint64_t kLeastParts = 2;  // Batches take at least that part of the text they are read from.
  const bool may_fit = data.total_bytes() / kLeastParts <= inputs_->kept->max();
  const bool again = spec_.epochs > 1 || inputs_->passes != nullptr;
  const bool alike = data.options().shuffle.order == RowOrder::kFiles;  // Each pass.
  return again && may_fit && alike ? inputs_->kept.get() : nullptr;
}

// `epoch`: the pass it starts with.
Result<BatchSource> ShardTrainer::source_of(DataSet& data, KeptPasses::Rows rows, std::uint32_t epoch) {
  if (inputs_->passes != nullptr) {
    if (auto pass = inputs_->passes->take(store_.shard(), rows))
      return BatchSource(std::move(pass), *model_, is_dense_);
  }
  auto reader = data.reader(store_.shard(), spec_.shards, epoch);
  if (!reader) return reader.status();
  const bool held_out = rows == KeptPasses::Rows::kHeldOut;
  if (held_out && held_out_rows_) (*reader)->expect(*held_out_rows_);
  const KeyCounting* const counting = inputs_->counting.get();
  return BatchSource(std::move(reader).value(), *model_, is_dense_,
                     held_out && held_out_ ? nullptr : room_for(data),
                     held_out ? RowStages::of_held_out(counting)
                              : RowStages::of_training(spec_, store_.shard(), epoch, counting));
}

void ShardTrainer::hand_on(BatchSource& source, KeptPasses::Rows rows) {
  if (inputs_->passes != nullptr && source.has_whole_pass())
    inputs_->passes->put(store_.shard(), rows, source.take_pass());
}

Task<Status> ShardTrainer::wait_for_counts() {
  KeyCounting* const counting = inputs_->counting.get();
  if (counting == nullptr) co_return ok_status();
  counting->start();
  while (!counting->ended()) {
    if (Status status = (co_await store_.yield()).status; !status.ok()) co_return status;
    if (store_.closing()) co_return ok_status();
  }
  co_return counting->status();
}

Status ShardTrainer::open_held_out() {
  if (held_out_ && held_out_->has_whole_pass()) return held_out_->rewind();
  auto source = source_of(*inputs_->valid, KeptPasses::Rows::kHeldOut, 0);
  if (!source) return source.status();
  held_out_.emplace(std::move(source).value());
  return ok_status();
}

Task<Status> ShardTrainer::score_held_out(std::uint32_t epoch) {
  BatchSource& source = *held_out_;
  HeldOutSummary summary(spec_.model.loss, HeldOutSummary::kShardCellsMax);
  PreparedRef batch;
  TrainReport scored;  // Is sent once it is known whether more follows.
  std::vector<std::vector<float>> taught(tables_.size());
  reports_.begin_pass();
  for (std::uint32_t part = 1;; ++part) {
    if (Status status = co_await prepare(source, kScoringRows, batch); !status.ok()) co_return status;
    if (!source.is_kept() && source.place().at_end) held_out_rows_ = source.reader().pass_rows();
    if (part > 1) {
      if (batch->rows == 0) scored.held_out = std::move(summary);
      const ReportId id{2 * epoch + 1, part - 1};
      if (Status status = co_await reports_.put(id, std::move(scored)); !status.ok()) co_return status;
    }
    if (batch->rows == 0) co_return co_await reports_.drain();
    reports_.note_point(part - 1, source.place());
    const auto memory = reserve(*batch);
    if (!memory) co_return memory.status();
    if (Status status = co_await receive(ask(*batch, true)); !status.ok()) co_return status;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (without_untaught(tables_[t], batch->batch.keys(), row_spans_[t], taught[t]))
        row_spans_[t] = taught[t];
    }
    scores_.resize(batch->rows);
    scored = {};
    reports_.note_text(scored, source.place());
    scored.sum = model_->forward(batch->batch, row_spans_, scores_);
    if (Status failed = model_->failure(); !failed.ok()) co_return failed;
    // NOLINTNEXTLINE(bugprone-use-after-move): it is given away in the last turn.
    summary.add_batch(scored.sum, scores_, batch->batch.rows());
  }
}

Task<Status> ShardTrainer::run() {
  auto model = make_model(spec_.model);
  if (!model) co_return model.status();
  model_ = std::move(model).value();
  const auto kind = find_kind(spec_.model);
  is_dense_ = kind.ok() && (*kind)->dense != nullptr;
  tables_ = model_->tables();
  rows_.resize(tables_.size());
  row_spans_.resize(tables_.size());
  if (Status status = co_await wait_for_counts(); !status.ok()) co_return status;
  const std::uint32_t first = store_.step().epoch;
  // An heir whose predecessor ended a pass may still owe that pass's reports, scores and barriers.
  const bool between = first > first_open_pass(spec_.reached) && store_.step().index == 0;
  const std::uint32_t begin = between ? first - 1 : first;
  auto opened = source_of(*inputs_->train, KeptPasses::Rows::kTrain, std::min(begin, spec_.epochs - 1));
  if (!opened) co_return opened.status();
  BatchSource source = std::move(opened).value();
  // Shards of one process share a pass over packed files if all of them are there before the first row is
  // read.
  if (const Status status = (co_await store_.barrier(kReadersBarrier)).status; !status.ok()) co_return status;
  for (std::uint32_t epoch = begin; epoch < spec_.epochs; ++epoch) {
    if (store_.closing() && store_.step().index == 0) break;
    if (epoch > begin) {
      if (Status status = source.rewind(); !status.ok()) co_return status;
    }
    if (epoch >= first) {
      if (Status status = co_await train_pass(source); !status.ok()) co_return status;
    } else if (Status status = co_await recount_pass(source, epoch); !status.ok()) {
      co_return status;
    }
    if (store_.closing()) break;
    // These shards share a pass over packed files, too.
    const bool scores = inputs_->valid != nullptr && makes_model(spec_, epoch);
    if (Status status = scores ? open_held_out() : ok_status(); !status.ok()) co_return status;
    if (const Status status = (co_await store_.barrier({epoch, 0})).status; !status.ok()) co_return status;
    if (scores) {
      if (Status status = co_await score_held_out(epoch); !status.ok()) co_return status;
    }
    if (const Status status = (co_await store_.barrier({epoch, 1})).status; !status.ok()) co_return status;
    if (spec_.shows_passes) {
      const Status status = (co_await store_.barrier(observers_barrier(epoch))).status;
      if (!status.ok()) co_return status;
    }
  }
  hand_on(source, KeptPasses::Rows::kTrain);
  if (held_out_) hand_on(*held_out_, KeptPasses::Rows::kHeldOut);
  // Shards that are a little late to hear that the job is to end must not wait for this one.
  if (const Status status = (co_await store_.end_work()).status; !status.ok()) co_return status;
  co_return (co_await store_.barrier(kLastBarrier)).status;
}

}  // namespace

Task<Status> train_shard(Store& store, std::shared_ptr<const TrainInputs> inputs) {
  ShardTrainer trainer(store, std::move(inputs));
  co_return co_await trainer.run();
}

}  // namespace thalweg
