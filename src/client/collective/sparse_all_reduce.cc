#include "client/collective/sparse_all_reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "base/limits.h"
#include "client/collective/key_splits.h"
#include "client/collective/merge_partners.h"
#include "client/collective/sparse_message.h"
#include "exchange/combine/combine.h"
#include "table/reduce.h"

namespace thalweg {
namespace {

using Way = SparseOptions::Way;

// What each rank says before anything is sent whose size others do not know.
enum SparseWord : std::size_t {
  kDim,
  kHow,
  kBytesMax,
  kOwnSize,
  kSparseWords = kOwnSize + SparseSize::kWords
};
// Above it sums of words cannot overflow.
constexpr std::size_t kSparseBytesMax = std::size_t{1} << 50;
// What the ranks bring on average, from which on fewer bytes are worth more messages.
constexpr std::uint64_t kLongBytes = std::uint64_t{32} << 10;

std::size_t row_bytes(std::size_t dim) { return sizeof(std::uint64_t) + dim * sizeof(float); }

// Of messages of any rows: u64 words, which begin where they may.
using MessageBytes = std::unique_ptr<std::byte[]>;
MessageBytes make_message(std::uint64_t words) {
  return MessageBytes(new std::byte[words * sizeof(std::uint64_t)]);
}

class SparseAllReduce {
 public:
  SparseAllReduce(GroupSteps& steps, const SparseCall& call) : steps_(steps), call_(call) {}
  Task<Status> run();

 private:
  Task<Status> agree();
  Task<Status> double_up();
  Task<Status> by_ranges();
  Task<Status> trade(const MergePartners& partners, const void* mine, std::size_t words, void* theirs,
                     std::size_t their_words);
  Task<Status> find_splits(std::vector<std::uint64_t>& splits);
  Task<Status> scatter(std::span<const std::uint64_t> splits);
  Task<Status> reduce_own(std::span<const SparseSize> theirs);
  Task<Status> gather();
  Status check_size(const SparseSize& said, std::uint64_t most, std::uint32_t rank) const;
  Status malformed(const Status& why, std::uint32_t rank) const;
  Status take_message(const SparseSize& size, std::uint32_t rank, const std::byte* message,
                      std::vector<std::uint64_t>& keys, SparseView& view) const;
  GroupCall words_call(Operation operation, const void* in, void* out, std::size_t words) const;
  std::uint64_t said(std::uint32_t rank, SparseWord word) const { return said_[rank * kSparseWords + word]; }
  std::uint64_t count_of(std::uint32_t rank) const { return said(rank, kOwnSize); }
  SparseSize size_of(std::uint32_t rank) const {
    return SparseSize::read(&said_[rank * kSparseWords + kOwnSize]);
  }

  GroupSteps& steps_;
  const SparseCall call_;
  std::vector<std::uint64_t> said_;
  std::uint64_t rows_in_all_ = 0;
  SparseView mine_{};  // What this rank has so far.
  // Views of mine_ are of these.
  std::array<SparseReducer, 2> reducers_;
  std::array<MessageBytes, 2> messages_;
  std::vector<std::uint64_t> decoded_[2];
};

GroupCall SparseAllReduce::words_call(Operation operation, const void* in, void* out,
                                      std::size_t words) const {
  GroupCall call = Group::typed<std::uint64_t>(operation, static_cast<const std::uint64_t*>(in),
                                               static_cast<std::uint64_t*>(out), words);
  call.timeout = call_.options.timeout;
  return call;
}

Task<Status> SparseAllReduce::run() {
  mine_ = {call_.keys, call_.rows};
  Status status = co_await agree();
  if (!status.ok()) co_return status;
  const std::uint64_t average = rows_in_all_ * row_bytes(call_.dim) / steps_.size;
  // Two ranks can do no better than to tell each other all.
  const bool few = steps_.size <= 2 || average < kLongBytes;
  const bool doubles = call_.options.way == Way::kBySize ? few : call_.options.way == Way::kDoubling;
  if (doubles) {
    status = co_await double_up();
  } else {
    status = co_await by_ranges();
  }
  if (!status.ok()) co_return status;
  SparseRows& out = *call_.out;
  if (doubles) {
    out.keys.assign(mine_.keys.begin(), mine_.keys.end());
    out.rows.assign(mine_.rows.begin(), mine_.rows.end());
  }
  if (call_.options.reduction == Reduction::kMean) {
    Arithmetic::of(DataType::kF32, Reduction::kMean)
        .finish(static_cast<std::byte*>(static_cast<void*>(out.rows.data())), out.rows.size(), steps_.size);
  }
  co_return ok_status();
}

// All ranks come to the same verdict, so that none waits for another.
Task<Status> SparseAllReduce::agree() {
  std::array<std::uint64_t, kSparseWords> own{};
  own[kDim] = call_.dim;
  own[kHow] = static_cast<std::uint64_t>(call_.options.reduction) |
              static_cast<std::uint64_t>(call_.options.way) << 8 | std::uint64_t{call_.last_wins} << 16;
  own[kBytesMax] = std::min(call_.options.bytes_max, kSparseBytesMax);
  SparseSize::of(call_.keys).write(&own[kOwnSize]);
  said_.resize(kSparseWords * steps_.size);
  const GroupCall call = words_call(Operation::kAllGather, own.data(), said_.data(), said_.size());
  if (Status status = co_await steps_.take(call); !status.ok()) co_return status;
  std::uint64_t bytes_max = kSparseBytesMax;
  for (std::uint32_t rank = 0; rank < steps_.size; ++rank)
    bytes_max = std::min(bytes_max, said(rank, kBytesMax));
  for (std::uint32_t rank = 0; rank < steps_.size; ++rank) {
    if (said(rank, kDim) != said(0, kDim) || said(rank, kHow) != said(0, kHow)) {
      co_return Status(
          Code::kUsage,
          fmt::format(
              "sparse all-reduce: rank {} calls it with rows of {} floats, rank 0 with rows of {}; expected "
              "the same, and the same options, at all ranks",
              rank, said(rank, kDim), said(0, kDim)));
    }
    if (Status status = check_size(size_of(rank), kSparseBytesMax, rank); !status.ok()) co_return status;
    rows_in_all_ += std::min(count_of(rank), kSparseBytesMax);
    if (count_of(rank) <= bytes_max / row_bytes(call_.dim) &&
        rows_in_all_ <= bytes_max / row_bytes(call_.dim))
      continue;
    co_return Status(
        Code::kUsage,
        fmt::format("sparse all-reduce: ranks 0 to {} bring {} rows of {} bytes with their keys; "
                    "expected at most {} bytes from all",
                    rank, rows_in_all_, row_bytes(call_.dim), bytes_max));
  }
  co_return ok_status();
}

Status SparseAllReduce::check_size(const SparseSize& size, std::uint64_t most, std::uint32_t rank) const {
  if (size.possible() && size.count <= most) return ok_status();
  return malformed({Code::kRefused, fmt::format("it says {} keys from {} to {}; expected at most {}",
                                                size.count, size.first, size.last, most)},
                   rank);
}

Status SparseAllReduce::malformed(const Status& why, std::uint32_t rank) const {
  return {why.code(),
          fmt::format("sparse all-reduce: rank {} sent what is no list of rows: {}", rank, why.message())};
}

Status SparseAllReduce::take_message(const SparseSize& size, std::uint32_t rank, const std::byte* message,
                                     std::vector<std::uint64_t>& keys, SparseView& view) const {
  auto read = read_sparse(size, call_.dim, message, keys);
  if (!read) return malformed(read.status(), rank);
  view = *read;
  return ok_status();
}

// This rank's words to each that wants them, and theirs from one.
Task<Status> SparseAllReduce::trade(const MergePartners& partners, const void* mine, std::size_t words,
                                    void* theirs, std::size_t their_words) {
  std::vector<std::size_t> out_counts(steps_.size), in_counts(steps_.size);
  for (const std::uint32_t to : partners.to) out_counts[to] = words;
  if (partners.any) in_counts[partners.from] = their_words;
  std::vector<std::uint64_t> copies;
  const std::size_t all = words * partners.to.size();
  if (partners.to.size() > 1) {
    const auto* const from = static_cast<const std::uint64_t*>(mine);
    for (std::size_t i = 0; i < partners.to.size(); ++i) copies.insert(copies.end(), from, from + words);
    mine = copies.data();
  }
  GroupCall call = words_call(Operation::kAllToAll, mine, theirs, all);
  call.counts = out_counts;
  call.counts_out = in_counts;
  co_return co_await steps_.take(call);
}

Task<Status> SparseAllReduce::double_up() {
  std::size_t turn = 0;
  for (std::uint32_t distance = 1; distance < steps_.size; distance *= 2) {
    const MergePartners partners = merge_partners(steps_.rank, steps_.size, distance);
    SparseSize theirs;
    if (distance == 1) {
      if (partners.any) theirs = size_of(partners.from);
    } else {
      std::array<std::uint64_t, SparseSize::kWords> own{}, other{};
      SparseSize::of(mine_.keys).write(own.data());
      Status told = co_await trade(partners, own.data(), own.size(), other.data(), other.size());
      if (!told.ok()) co_return told;
      if (partners.any) theirs = SparseSize::read(other.data());
    }
    std::uint64_t most = 0;
    for (std::uint32_t rank = partners.theirs; rank < partners.theirs_end; ++rank) most += count_of(rank);
    if (Status status = check_size(theirs, most, partners.from); !status.ok()) co_return status;
    const std::uint64_t words = partners.to.empty() ? 0 : SparseSize::of(mine_.keys).words(call_.dim);
    const MessageBytes message = make_message(words);
    if (words > 0) write_sparse(mine_.keys, mine_.rows, call_.dim, message.get());
    const std::uint64_t their_words = theirs.words(call_.dim);
    MessageBytes received = make_message(their_words);
    Status moved = co_await trade(partners, message.get(), words, received.get(), their_words);
    if (!moved.ok()) co_return moved;
    if (theirs.count == 0) continue;
    messages_[turn] = std::move(received);
    SparseView view;
    Status taken = take_message(theirs, partners.from, messages_[turn].get(), decoded_[turn], view);
    if (!taken.ok()) co_return taken;
    Contribution parts[] = {{mine_.keys, mine_.rows, partners.block},
                            {view.keys, view.rows, partners.theirs}};
    if (partners.theirs < partners.block) std::swap(parts[0], parts[1]);
    const Contribution sum = reducers_[turn].reduce(parts, call_.dim, call_.last_wins);
    mine_ = {sum.keys, sum.grads};
    turn ^= 1;
  }
  co_return ok_status();
}

Task<Status> SparseAllReduce::by_ranges() {
  std::vector<std::uint64_t> splits;
  Status status = co_await find_splits(splits);
  if (status.ok()) status = co_await scatter(splits);
  if (status.ok()) status = co_await gather();
  co_return status;
}

Task<Status> SparseAllReduce::find_splits(std::vector<std::uint64_t>& splits) {
  const std::vector<std::uint64_t> own = sample_keys(call_.keys, key_samples(steps_.size));
  std::vector<std::uint64_t> samples(own.size() * steps_.size), counts(steps_.size);
  const GroupCall call = words_call(Operation::kAllGather, own.data(), samples.data(), samples.size());
  if (Status status = co_await steps_.take(call); !status.ok()) co_return status;
  for (std::uint32_t rank = 0; rank < steps_.size; ++rank) counts[rank] = count_of(rank);
  splits = split_keys(samples, counts);
  co_return ok_status();
}

// Each rank gets from all what they have of its own range of keys.
Task<Status> SparseAllReduce::scatter(std::span<const std::uint64_t> splits) {
  const std::uint32_t ranks = steps_.size;
  std::vector<std::size_t> begins(ranks + std::size_t{1}, call_.keys.size());
  begins[0] = 0;
  for (std::size_t r = 1; r < ranks; ++r) {
    const auto at = std::lower_bound(call_.keys.begin(), call_.keys.end(), splits[r - 1]);
    begins[r] = static_cast<std::size_t>(at - call_.keys.begin());
  }
  const auto keys_for = [&](std::uint32_t r) {
    return call_.keys.subspan(begins[r], begins[r + 1] - begins[r]);
  };
  std::vector<std::uint64_t> own(SparseSize::kWords * ranks), others(own.size());
  for (std::uint32_t r = 0; r < ranks; ++r) SparseSize::of(keys_for(r)).write(&own[SparseSize::kWords * r]);
  const GroupCall sizes = words_call(Operation::kAllToAll, own.data(), others.data(), own.size());
  if (Status status = co_await steps_.take(sizes); !status.ok()) co_return status;

  std::vector<SparseSize> theirs;
  std::vector<std::size_t> in_counts, out_counts;
  std::size_t in_words = 0, out_words = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    theirs.push_back(SparseSize::read(&others[SparseSize::kWords * r]));
    if (Status status = check_size(theirs[r], count_of(r), r); !status.ok()) co_return status;
    in_words += in_counts.emplace_back(theirs[r].words(call_.dim));
    out_words += out_counts.emplace_back(SparseSize::of(keys_for(r)).words(call_.dim));
  }
  const MessageBytes out = make_message(out_words);
  std::byte* to = out.get();
  for (std::uint32_t r = 0; r < ranks; ++r) {
    write_sparse(keys_for(r), call_.rows.subspan(begins[r] * call_.dim, keys_for(r).size() * call_.dim),
                 call_.dim, to);
    to += out_counts[r] * sizeof(std::uint64_t);
  }
  messages_[0] = make_message(in_words);
  GroupCall rows = words_call(Operation::kAllToAll, out.get(), messages_[0].get(), out_words);
  rows.counts = out_counts;
  rows.counts_out = in_counts;
  if (Status status = co_await steps_.take(rows); !status.ok()) co_return status;
  co_return co_await reduce_own(theirs);
}

Task<Status> SparseAllReduce::reduce_own(std::span<const SparseSize> theirs) {
  std::vector<std::vector<std::uint64_t>> decoded(theirs.size());
  std::vector<Contribution> parts;
  const std::byte* message = messages_[0].get();
  for (std::uint32_t r = 0; r < theirs.size(); ++r) {
    SparseView view;
    Status status = take_message(theirs[r], r, message, decoded[r], view);
    if (!status.ok()) co_return status;
    if (theirs[r].count > 0) parts.push_back({view.keys, view.rows, r});
    message += theirs[r].words(call_.dim) * sizeof(std::uint64_t);
  }
  const Contribution sum = reducers_[0].reduce(parts, call_.dim, call_.last_wins);
  decoded_[0].assign(sum.keys.begin(), sum.keys.end());
  mine_ = {decoded_[0], sum.grads};
  co_return ok_status();
}

// All ranks get all ranges.
Task<Status> SparseAllReduce::gather() {
  const std::uint32_t ranks = steps_.size;
  std::array<std::uint64_t, SparseSize::kWords> own{};
  SparseSize::of(mine_.keys).write(own.data());
  std::vector<std::uint64_t> all(own.size() * ranks);
  const GroupCall sizes = words_call(Operation::kAllGather, own.data(), all.data(), all.size());
  if (Status status = co_await steps_.take(sizes); !status.ok()) co_return status;
  std::vector<std::size_t> counts;
  std::size_t words = 0, own_begin = 0, rows = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const SparseSize size = SparseSize::read(&all[SparseSize::kWords * r]);
    if (Status status = check_size(size, rows_in_all_, r); !status.ok()) co_return status;
    if (r == steps_.rank) own_begin = words;
    words += counts.emplace_back(size.words(call_.dim));
    rows += size.count;
  }
  if (Status status = check_size({rows, 0, ~std::uint64_t{0}}, rows_in_all_, 0); rows > 0 && !status.ok())
    co_return status;
  const MessageBytes message = make_message(words);
  std::byte* const in = message.get() + own_begin * sizeof(std::uint64_t);
  write_sparse(mine_.keys, mine_.rows, call_.dim, in);
  GroupCall call = words_call(Operation::kAllGather, in, message.get(), words);
  call.counts = counts;
  if (Status status = co_await steps_.take(call); !status.ok()) co_return status;

  SparseRows& out = *call_.out;
  out.keys.clear(), out.rows.clear();
  out.keys.reserve(rows), out.rows.reserve(rows * call_.dim);
  const std::byte* at = message.get();
  for (std::uint32_t r = 0; r < ranks; ++r) {
    SparseView view;
    const SparseSize size = SparseSize::read(&all[SparseSize::kWords * r]);
    if (Status status = take_message(size, r, at, decoded_[1], view); !status.ok()) co_return status;
    if (!view.keys.empty() && !out.keys.empty() && view.keys.front() <= out.keys.back())
      co_return malformed({Code::kRefused, "its range begins below another's end"}, r);
    out.keys.insert(out.keys.end(), view.keys.begin(), view.keys.end());
    out.rows.insert(out.rows.end(), view.rows.begin(), view.rows.end());
    at += counts[r] * sizeof(std::uint64_t);
  }
  co_return ok_status();
}

Status wrong_sparse(std::string why) { return {Code::kUsage, "sparse all-reduce: " + std::move(why)}; }

}  // namespace

Status check_sparse(const SparseCall& call) {
  if (call.dim > limits::kDimMax) {
    return wrong_sparse(fmt::format("rows of {} floats; expected at most {}", call.dim, limits::kDimMax));
  }
  if (call.rows.size() != call.keys.size() * call.dim) {
    return wrong_sparse(fmt::format("{} keys have {} floats; expected {} for each", call.keys.size(),
                                    call.rows.size(), call.dim));
  }
  if (!call.keys.empty() && call.keys.data() == call.out->keys.data())
    return wrong_sparse("`sum` holds the keys that go in; expected another one");
  const Reduction how = call.options.reduction;
  if (how != Reduction::kSum && how != Reduction::kMean)
    return wrong_sparse(fmt::format("it cannot combine by {}; expected sum or mean", reduction_name(how)));
  for (std::size_t i = 1; i < call.keys.size(); ++i) {
    if (call.keys[i - 1] < call.keys[i]) continue;
    return wrong_sparse(fmt::format("key {} is {} after {}; expected keys to ascend, none of them twice", i,
                                    call.keys[i], call.keys[i - 1]));
  }
  return ok_status();
}

Task<Status> all_reduce_sparse(GroupSteps& steps, SparseCall call) {
  SparseAllReduce operation(steps, call);
  co_return co_await operation.run();
}

Status all_reduce_sparse(Group& group, const SparseCall& call) {
  if (Status status = check_sparse(call); !status.ok()) return status;
  return run_in_steps(group, [&](GroupSteps& steps) { return all_reduce_sparse(steps, call); });
}

Status Group::all_reduce_sparse(std::span<const std::uint64_t> keys, std::span<const float> rows,
                                std::size_t dim, SparseRows& sum, const SparseOptions& options) {
  return thalweg::all_reduce_sparse(*this, {keys, rows, dim, options, false, &sum});
}

GroupWork Group::all_reduce_sparse_async(std::span<const std::uint64_t> keys, std::span<const float> rows,
                                         std::size_t dim, SparseRows& sum, const SparseOptions& options) {
  const SparseCall call{keys, rows, dim, options, false, &sum};
  if (Status status = check_sparse(call); !status.ok()) return failed(std::move(status));
  return StartedSeries::start(*this,
                              [&](GroupSteps& steps) { return thalweg::all_reduce_sparse(steps, call); }, {});
}

}  // namespace thalweg
