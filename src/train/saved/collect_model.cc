#include "train/saved/collect_model.h"

#include <algorithm>
#include <utility>

#include "train/rows/key_ages.h"
#include "train/warm_start/scans_ahead.h"

namespace thalweg {
namespace {

bool is_zero(std::span<const float> row) {
  return std::all_of(row.begin(), row.end(), [](float value) { return value == 0; });
}

// Whether a key without a row is as good as one whose row is 0.
bool may_be_zero(const TableSpec& spec) {
  return has_model_keys(spec) && spec.init.kind == InitSpec::Kind::kZero;
}

// Of a range of a table, the rows that stays(number, row) is not true of. Returns how many are gone.
template <class Stays>
std::uint64_t take_out(const Stays& stays, Answer& scanned) {
  if (scanned.keys.empty()) return 0;
  const std::size_t width = scanned.rows.size() / scanned.keys.size();
  std::vector<std::uint64_t> keys;
  std::vector<float> rows;
  for (std::size_t i = 0; i < scanned.keys.size(); ++i) {
    const auto row = scanned.rows.span().subspan(i * width, width);
    if (!stays(i, row)) continue;
    keys.push_back(scanned.keys[i]);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  const std::uint64_t gone = scanned.keys.size() - keys.size();
  scanned.keys = std::move(keys);
  scanned.rows = Rows(std::move(rows));
  return gone;
}

std::uint64_t take_out_zeros(const TableSpec& spec, Answer& scanned) {
  return take_out([&](std::size_t, std::span<const float> row) { return !is_zero(row.first(spec.dim)); },
                  scanned);
}

// Of a range of a table, whose rows of ages are `aged`, the rows of keys that are old enough; those of the
// table of ages itself become ages. Returns how many are gone.
std::uint64_t take_out_expired(const KeyAges& ages, const Answer& aged, std::uint32_t expire_after,
                               const TableSpec& spec, Answer& scanned) {
  if (scanned.keys.empty()) return 0;
  const std::vector<double> steps = ages.ages(scanned.keys, aged.keys, aged.rows.span());
  if (is_ages_table(spec)) {
    std::vector<float> rows;
    for (const double age : steps) rows.insert(rows.end(), {KeyAges::kBefore, static_cast<float>(age)});
    scanned.rows = Rows(std::move(rows));
  }
  return take_out([&](std::size_t i, std::span<const float>) { return steps[i] < expire_after; }, scanned);
}

class Collection {
 public:
  Collection(ShardStore& store, const std::vector<TableSpec>& tables, const LeftOut& left_out,
             ModelWriter* writer)
      : store_(store), tables_(tables), left_out_(left_out), writer_(writer) {}

  Task<Status> add_table(TableId table, CollectedModel& model);

 private:
  struct Taken {
    std::uint64_t all = 0;       // As they are announced to the writer.
    std::uint64_t left_out = 0;  // Of these.
    std::uint64_t digest = 0;
  };
  // Does not end the writer's table.
  Task<Status> add_rows(TableId table, Taken& out);

  ShardStore& store_;
  const std::vector<TableSpec>& tables_;
  const LeftOut& left_out_;
  ModelWriter* const writer_;
};

// How many rows are left out is known once all have been seen, and files say before their rows how many there
// are.
Task<Status> Collection::add_table(TableId table, CollectedModel& model) {
  const TableSpec& spec = tables_[table.value];
  const Answer counted = co_await store_.count(table);
  if (!counted.status.ok()) co_return counted.status;
  const std::uint64_t all = spec.kind == TableSpec::Kind::kDense ? spec.rows : counted.keys.at(0);
  Taken rows;
  rows.all = all;
  Status status = co_await add_rows(table, rows);
  if (status.ok() && rows.left_out != 0) {
    if (writer_ != nullptr) status = writer_->drop_table();
    rows = {all - rows.left_out, 0, 0};
    if (status.ok()) status = co_await add_rows(table, rows);
  }
  if (!status.ok()) co_return status;
  if (has_model_keys(spec)) model.rows += rows.all;
  model.digest += table_part_of_digest(spec.name, rows.digest);
  co_return writer_ == nullptr ? ok_status() : writer_->end_table();
}

Task<Status> Collection::add_rows(TableId table, Taken& out) {
  const TableSpec& spec = tables_[table.value];
  const bool dense = spec.kind == TableSpec::Kind::kDense;
  const std::uint32_t expire_after = dense ? 0 : left_out_.expire_after;
  const auto ages_table = TableId{static_cast<std::uint16_t>(tables_.size() - 1)};
  const KeyAges of_keys(left_out_.passes, left_out_.first_pass);
  TableDigest digest(spec.dim);
  bool begun = false;
  ScansAhead scans(store_, table, spec.ranges);
  ScansAhead ages(store_, ages_table, expire_after == 0 ? std::uint16_t{0} : spec.ranges);
  for (std::uint16_t range = 0; range < spec.ranges; ++range) {
    Answer scanned = co_await scans.next();
    if (!scanned.status.ok()) co_return scanned.status;
    if (expire_after != 0) {
      const Answer aged = co_await ages.next();
      if (!aged.status.ok()) co_return aged.status;
      out.left_out += take_out_expired(of_keys, aged, expire_after, spec, scanned);
    }
    if (scanned.keys.empty()) continue;
    const std::size_t width = scanned.rows.size() / scanned.keys.size();
    if (writer_ != nullptr && !begun) {
      if (Status status = writer_->begin_table(spec, out.all, width); !status.ok()) co_return status;
      begun = true;
    }
    if (left_out_.zeros && may_be_zero(spec)) out.left_out += take_out_zeros(spec, scanned);
    if (writer_ != nullptr) {
      if (Status status = writer_->append(scanned.keys, scanned.rows.span()); !status.ok()) co_return status;
      continue;
    }
    std::vector<Key> keys(scanned.keys.begin(), scanned.keys.end());
    if (!dense) std::transform(keys.begin(), keys.end(), keys.begin(), unplace);
    digest.add(keys, scanned.rows.span());
  }
  out.digest = begun ? writer_->digest_of_table() : digest.sum();
  if (writer_ == nullptr || begun) co_return ok_status();
  co_return writer_->begin_table(spec, out.all, spec.dim);
}

}  // namespace

Task<Status> collect_model(ShardStore& store, const std::vector<TableSpec>& tables, const LeftOut& left_out,
                           ModelWriter* writer, CollectedModel& out) {
  out = {};
  Collection collection(store, tables, left_out, writer);
  for (std::uint16_t t = 0; t < tables.size(); ++t) {
    if (Status status = co_await collection.add_table(TableId{t}, out); !status.ok()) co_return status;
  }
  co_return ok_status();
}

}  // namespace thalweg
