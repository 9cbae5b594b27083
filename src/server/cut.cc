#include "server/cut.h"

namespace thalweg {
namespace {

template <class T>
Bytes joined(const Bytes& first, const Bytes& second) {
  std::vector<T> all(first.as<T>().begin(), first.as<T>().end());
  all.insert(all.end(), second.as<T>().begin(), second.as<T>().end());
  return Bytes::of(std::move(all));
}

class WholeCut final : public CutSink {
 public:
  WholeCut(const Cut& cut, const std::function<Result<std::string>(const Cut& cut)>& store)
      : whole_(cut), store_(store) {}
  Status add(TableId table, const LoadEntry& rows) override {
    std::vector<LoadEntry>& entries = whole_.tables.at(table.value).entries;
    if (entries.empty() || entries.back().range != rows.range) {
      entries.push_back(rows);
      return ok_status();
    }
    Payload& all = entries.back().rows;
    all = {joined<std::uint64_t>(all.keys, rows.rows.keys), joined<float>(all.values, rows.rows.values)};
    return ok_status();
  }
  Result<std::string> finish() override { return store_(whole_); }

 private:
  Cut whole_;
  std::function<Result<std::string>(const Cut& cut)> store_;
};

}  // namespace

std::vector<Reached> reached_in(const std::vector<TableCut>& tables) {
  std::vector<Reached> all;
  for (const TableCut& table : tables) {
    for (const RangeState& state : table.states) {
      all.resize(state.marks.size());
      for (std::size_t shard = 0; shard < all.size(); ++shard) {
        Reached of = state.reached[shard];
        of.low = state.marks[shard].low();
        all[shard].add(of);
      }
    }
  }
  return all;
}

StoreCut store_whole(std::function<Result<std::string>(const Cut& cut)> store) {
  return [store = std::move(store)](const Cut& cut) -> Result<std::unique_ptr<CutSink>> {
    return std::unique_ptr<CutSink>(std::make_unique<WholeCut>(cut, store));
  };
}

void CutWork::compute() {
  if (sink_ == nullptr) {
    auto sink = store_(*cut_);
    if (!sink) {
      stored_ = sink.status();
      return;
    }
    sink_ = *std::move(sink);
  }
  for (const Piece& piece : pieces_) {
    if (Status status = sink_->add(piece.table, piece.rows); !status.ok()) {
      stored_ = std::move(status);
      return;
    }
  }
  pieces_.clear();
  if (last_) stored_ = sink_->finish();
}

std::pair<std::uint64_t, Result<std::string>> CutWork::finish() {
  Result<std::string> stored = stored_ ? *std::move(stored_) : Status(Code::kRetry, "it was given up");
  const std::uint64_t number = cut_->order.number;
  sink_.reset();
  stored_.reset();
  pieces_.clear();
  cut_.reset();
  return {number, std::move(stored)};
}

}  // namespace thalweg
