// Ranks that combine and move vectors together: all-reduce and its kin, among threads, processes and
// machines. docs/exchange.md has runnable programs.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/group_options.h"
#include "thalweg/operation.h"
#include "thalweg/reduction.h"
#include "thalweg/sparse_rows.h"
#include "thalweg/status.h"
#include "thalweg/task.h"

namespace thalweg {

struct RoutePlans;

// Which way an operation's bytes go. All ranks must choose the same.
class RouteChoice {
 public:
  struct Tuning {
    std::size_t piece_bytes = 0;  // Blocks travel in pieces of this size; 0: whole.
    std::uint32_t channels = 1;   // Equal parts of the vector that travel side by side.
  };
  RouteChoice() = default;  // The group chooses by operation and size.
  // "ring", "tree:4", "hierarchical:4x2", ... What "rings" and "hierarchical" leave open, the group fills in.
  // Errors: kUsage, with the names there are.
  static Result<RouteChoice> named(std::string_view name, Tuning tuning = {0, 1});

 private:
  friend struct RoutePlans;
  std::shared_ptr<const RoutePlans> plans_;  // Null: the group chooses.
};

// How elements combine: a built-in reduction, or one of your own.
class Combine {
 public:
  Combine(Reduction reduction = Reduction::kSum)
      : reduction_(reduction) {}                      // NOLINT(google-explicit-constructor)
  Combine(const Monoid& monoid) : monoid_(monoid) {}  // NOLINT(google-explicit-constructor)
  Reduction reduction() const { return reduction_; }
  const Monoid& monoid() const { return monoid_; }  // Without `combine` where the reduction counts.

 private:
  Reduction reduction_ = Reduction::kSum;
  Monoid monoid_{};
};

// One operation on elements of any type, as run() and start() take it; Group's typed members make these.
struct GroupCall {
  Operation operation = Operation::kAllReduce;
  // What this rank contributes, and where its result goes; see Operation. Null where the operation has none
  // for this rank; an `out` that is given is written to, on its way, also where the root alone gets a result.
  // In place, as NCCL has it: in == out + own_part().begin for an all-gather or gather, out == in +
  // own_part().begin for a reduce-scatter or scatter, in == out for all others. Buffers that overlap in
  // another way are refused with kUsage.
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;           // Elements of the whole vector; all-to-all: of what this rank contributes.
  DataType type = DataType::kF32;  // A monoid's elements have its own size instead.
  Combine combine{};
  std::uint32_t root = 0;  // Point to point: who sends.
  std::uint32_t peer = 0;  // Point to point: who receives.
  // Elements of each rank's part, one number a rank; empty: Group::part(). All-to-all: of the part for each
  // rank, and in `counts_out` of the part from each.
  std::span<const std::size_t> counts{};
  std::span<const std::size_t> counts_out{};
  std::span<const std::uint32_t> neighbours{};  // Of this rank; each of them names it as well.
  RouteChoice route{};
  std::chrono::nanoseconds timeout{0};  // 0: GroupOptions::timeout.
};

// An operation under way. Its buffers, and its group, stay as they are until it is done.
class [[nodiscard]] GroupWork {
 public:
  bool done() const;
  // Blocks until the operation has ended, and says how.
  Status wait();
  // For co_await. The coroutine goes on upon the group's own thread, which it must not block.
  bool await_ready() const { return done(); }
  bool await_suspend(std::coroutine_handle<> waiter);
  Status await_resume();
  struct State;
  explicit GroupWork(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// This rank's membership. All ranks call the same operations in the same order, with equal counts, types,
// roots and routes; what differs is found out and refused. Blocking calls run on the caller's thread; those
// begun with start() run side by side on one thread of the group, and match only operations begun with
// start(). One thread at a time uses a group; several groups, also those split off one, may be used by as
// many threads.
//
// Errors of every operation: kUsage (the call cannot be right; nothing was sent), kRefused (another rank
// calls something else), kPeerLost and kTimeout (naming the operation, its step and the rank). After all but
// kUsage the group is unusable, and its calls repeat the error; form another one without the rank that is
// lost.
class Group {
 public:
  // Blocks until all ranks have joined. Errors: kUsage, kTimeout (naming who is missing), kIo.
  static Result<Group> join(const GroupOptions& options);
  // Ranks 0 to size-1 for as many threads of this process.
  static std::vector<Group> in_process(std::uint32_t size,
                                       std::chrono::nanoseconds timeout = std::chrono::seconds(60));
  Group(Group&& other) noexcept;
  Group& operator=(Group&& other) noexcept;
  ~Group();  // Waits for the operations that were started.

  std::uint32_t rank() const;
  std::uint32_t size() const;
  // OK, or why the group can no longer be used.
  Status status() const;
  // What this rank's operations have sent so far, without headers. What others read from shared memory is not
  // sent.
  std::uint64_t bytes_sent() const;
  // Whether what is started is likely to be done beside the ranks' own work: they are on several machines, or
  // there is a core for each rank's thread and one for its group's. The same at all ranks.
  bool has_time_to_overlap() const;
  // After a failure: the whole group anew, without the ranks that are lost, were given up, have left or do
  // not call this in time. Those that do keep their order. This group then serves no more but for its memory.
  // Errors: kUsage (threads of one process), kRefused (the others gave this rank up, or went on without it),
  // kTimeout.
  Result<Group> regroup();

  // The part of a vector of `count` elements that belongs to `rank`: nearly equal ones, the first ranks' take
  // the remainder.
  struct Part {
    std::size_t begin = 0;
    std::size_t count = 0;
  };
  Part part(std::size_t count, std::uint32_t rank) const;
  Part own_part(std::size_t count) const { return part(count, rank()); }

  Status run(const GroupCall& call);
  // Runs a coroutine that starts operations and awaits them, and returns when it is over, with what it
  // returns.
  Status run(Task<Status> program);
  // kRetry, and no call for the other ranks to match, where kStartedMax are under way in this group already.
  // They share 32 channels: an operation takes one or, by a tree, two, and waits in order where there is
  // none.
  GroupWork start(const GroupCall& call);
  static constexpr std::uint32_t kStartedMax = 64;

  // out[i] = the combination of all ranks' in[i], on every rank. Sums of one configuration have the same bits
  // every time and on every rank. `in` and `out` may be the same memory, else must not overlap.
  template <class T>
  Status all_reduce(std::span<const T> in, std::span<T> out, Combine how = {}, RouteChoice route = {}) {
    if (in.size() != out.size()) return unequal("all-reduce", in.size(), out.size());
    return run(typed<T>(Operation::kAllReduce, in.data(), out.data(), in.size(), how, std::move(route)));
  }
  template <class T>
  Status all_reduce(std::span<T> data, Combine how = {}, RouteChoice route = {}) {
    return all_reduce<T>(data, data, how, std::move(route));
  }
  template <class T>
  GroupWork all_reduce_async(std::span<const T> in, std::span<T> out, Combine how = {},
                             RouteChoice route = {}) {
    if (in.size() != out.size()) return failed(unequal("all-reduce", in.size(), out.size()));
    return start(typed<T>(Operation::kAllReduce, in.data(), out.data(), in.size(), how, std::move(route)));
  }
  template <class T>
  GroupWork all_reduce_async(std::span<T> data, Combine how = {}, RouteChoice route = {}) {
    return all_reduce_async<T>(data, data, how, std::move(route));
  }
  // out[i] = sum over ranks of weight * in[i], divided by the sum of weights, for float and double: the mean
  // of all items when each rank gives the mean of `weight` of its own. Weights are >= 0, one of them above 0.
  template <class T>
  Status weighted_mean(std::span<const T> in, std::span<T> out, double weight, RouteChoice route = {}) {
    if (in.size() != out.size()) return unequal("weighted mean", in.size(), out.size());
    return weighted_mean(in.data(), out.data(), in.size(), DataTypeOf<T>::value, weight, std::move(route));
  }
  // out = the sum of all ranks' contributions, any number of vectors of out.size() elements each, with bits
  // that depend on the set of contributions alone, for float and double. At most 65535 in all.
  template <class T>
  Status reproducible_sum(std::span<const T* const> contributions, std::span<T> out, RouteChoice route = {}) {
    const std::vector<const void*> vectors(contributions.begin(), contributions.end());
    return reproducible_sum(vectors, out.data(), out.size(), DataTypeOf<T>::value, std::move(route));
  }
  // sum = the union of all ranks' keys, ascending, with the sum of the rows that each rank has of it: `dim`
  // floats a key, none where the keys alone are wanted. `keys` ascend strictly, as numbers or as a store
  // orders its own (`*Keys::of(...).values()`). The same bits on every rank, whichever way, and those of the
  // servers' sums over data shards. `sum` is none of the buffers that go in. Errors besides: kUsage at all
  // ranks, which may go on, where their options differ or they bring more than SparseOptions::bytes_max.
  Status all_reduce_sparse(std::span<const std::uint64_t> keys, std::span<const float> rows, std::size_t dim,
                           SparseRows& sum, const SparseOptions& options = {});
  // As all_reduce, for `root` alone; elsewhere `out` may be empty.
  template <class T>
  Status reduce(std::span<const T> in, std::span<T> out, std::uint32_t root = 0, Combine how = {},
                RouteChoice route = {}) {
    if (rank() == root && in.size() != out.size()) return unequal("reduce", in.size(), out.size());
    T* const result = rank() == root ? out.data() : nullptr;
    GroupCall call = typed<T>(Operation::kReduce, in.data(), result, in.size(), how, std::move(route));
    call.root = root;
    return run(call);
  }
  // out = this rank's part of the combination; out.size() = own_part(in.size()).count. In place: `out` is
  // that part of `in`.
  template <class T>
  Status reduce_scatter(std::span<const T> in, std::span<T> out, Combine how = {}, RouteChoice route = {}) {
    if (out.size() != own_part(in.size()).count) {
      return unequal("reduce-scatter", own_part(in.size()).count, out.size());
    }
    return run(typed<T>(Operation::kReduceScatter, in.data(), out.data(), in.size(), how, std::move(route)));
  }
  // out = all ranks' `in`, in their order; in.size() = own_part(out.size()).count, or the rank's of `counts`.
  // In place: `in` is that part of `out`.
  template <class T>
  Status all_gather(std::span<const T> in, std::span<T> out, std::span<const std::size_t> counts = {},
                    RouteChoice route = {}) {
    if (counts.empty() && in.size() != own_part(out.size()).count) {
      return unequal("all-gather", own_part(out.size()).count, in.size());
    }
    GroupCall call = typed<T>(Operation::kAllGather, in.data(), out.data(), out.size(), {}, std::move(route));
    call.counts = counts;
    return run(call);
  }
  // Everywhere what `root` has in `data`.
  template <class T>
  Status broadcast(std::span<T> data, std::uint32_t root = 0, RouteChoice route = {}) {
    GroupCall call =
        typed<T>(Operation::kBroadcast, data.data(), data.data(), data.size(), {}, std::move(route));
    call.root = root;
    return run(call);
  }
  // out = all ranks' `in`, at `root`; elsewhere `out` may be empty. All give the same number of elements.
  template <class T>
  Status gather(std::span<const T> in, std::span<T> out, std::uint32_t root = 0, RouteChoice route = {}) {
    const std::size_t whole = in.size() * size();
    if (rank() == root && out.size() != whole) return unequal("gather", whole, out.size());
    T* const result = rank() == root ? out.data() : nullptr;
    GroupCall call = typed<T>(Operation::kGather, in.data(), result, whole, {}, std::move(route));
    call.root = root;
    return run(call);
  }
  // out = this rank's part of the root's `in`, which may be empty elsewhere. All get the same number.
  template <class T>
  Status scatter(std::span<const T> in, std::span<T> out, std::uint32_t root = 0, RouteChoice route = {}) {
    const std::size_t whole = out.size() * size();
    if (rank() == root && in.size() != whole) return unequal("scatter", whole, in.size());
    GroupCall call = typed<T>(Operation::kScatter, in.data(), out.data(), whole, {}, std::move(route));
    call.root = root;
    return run(call);
  }
  // Sends the r-th part of `in` to rank r; out = what all ranks sent here, in their order. Parts are
  // in.size() / size() elements, or in_counts[r] elements for rank r and out_counts[r] from it.
  template <class T>
  Status all_to_all(std::span<const T> in, std::span<T> out, std::span<const std::size_t> in_counts = {},
                    std::span<const std::size_t> out_counts = {}, RouteChoice route = {}) {
    if (in_counts.empty() && in.size() != out.size()) return unequal("all-to-all", in.size(), out.size());
    GroupCall call = typed<T>(Operation::kAllToAll, in.data(), out.data(), in.size(), {}, std::move(route));
    call.counts = in_counts;
    call.counts_out = out_counts;
    return run(call);
  }
  // Returns when all ranks have called it.
  Status barrier();
  // One rank sends, the other receives as many elements; other ranks take no part.
  template <class T>
  Status send(std::span<const T> data, std::uint32_t to) {
    GroupCall call = typed<T>(Operation::kPointToPoint, data.data(), nullptr, data.size(), {}, {});
    call.root = rank();
    call.peer = to;
    return run(call);
  }
  template <class T>
  Status receive(std::span<T> data, std::uint32_t from) {
    GroupCall call = typed<T>(Operation::kPointToPoint, nullptr, data.data(), data.size(), {}, {});
    call.root = from;
    call.peer = rank();
    return run(call);
  }
  // Sends `in` to each of `neighbours`, which name this rank as well: out = their vectors, in the order of
  // `neighbours`. Any graph will do. All ranks call it; one without neighbours neither sends nor waits.
  template <class T>
  Status exchange_with(std::span<const std::uint32_t> neighbours, std::span<const T> in, std::span<T> out) {
    if (out.size() != neighbours.size() * in.size())
      return unequal("neighbours", neighbours.size() * in.size(), out.size());
    GroupCall call = typed<T>(Operation::kNeighbours, in.data(), out.data(), in.size());
    call.neighbours = neighbours;
    return run(call);
  }
  // A step of gossip: exchange_with(), then mix(); weights[k] is that of neighbour k.
  template <class T>
  Status mix_with(std::span<const std::uint32_t> neighbours, std::span<const T> weights, std::span<T> data) {
    if (weights.size() != neighbours.size()) return unequal("neighbours", neighbours.size(), weights.size());
    std::vector<T> theirs(neighbours.size() * data.size());
    Status status = exchange_with<T>(neighbours, data, theirs);
    std::vector<const T*> vectors;
    for (std::size_t k = 0; k < neighbours.size(); ++k) vectors.push_back(theirs.data() + k * data.size());
    if (status.ok()) mix<T>(data, vectors, weights);
    return status;
  }
  // data[i] = (1 - sum of weights) * data[i] + sum over k of weights[k] * vectors[k][i], in the order of k.
  template <class T>
  static void mix(std::span<T> data, std::span<const T* const> vectors, std::span<const T> weights) {
    T own = 1;
    for (const T weight : weights) own -= weight;
    for (T& value : data) value *= own;
    for (std::size_t k = 0; k < vectors.size(); ++k) {
      for (std::size_t i = 0; i < data.size(); ++i) data[i] += weights[k] * vectors[k][i];
    }
  }
  // The call that a typed member makes, to be changed and then run or started.
  template <class T>
  static GroupCall typed(Operation operation, const T* in, T* out, std::size_t count, Combine how = {},
                         RouteChoice route = {}) {
    GroupCall call;
    call.operation = operation;
    call.in = in;
    call.out = out;
    call.count = count;
    if constexpr (requires { DataTypeOf<T>::value; }) call.type = DataTypeOf<T>::value;
    call.combine = how;
    call.route = std::move(route);
    return call;
  }

  // Groups of the ranks that give the same colour, ordered by `key` and then by rank; all ranks call it. None
  // for a negative colour. The new group talks through this one's links, which stay open as long as either
  // lives. A rank may be in kSplitsMax groups that were split off, at any depth, at a time; a group counts
  // until all its members have dropped it. Errors besides those of operations: kRetry, drop one first.
  Result<std::optional<Group>> split(std::int32_t colour, std::int64_t key = 0);
  static constexpr std::uint32_t kSplitsMax = 15;

  // Memory that the ranks of one machine share, so that large operations on it copy less. 64-byte aligned,
  // zeroed; freed with the group at the latest. Any memory may be used in operations. Errors: kIo.
  template <class T>
  Result<std::span<T>> allocate(std::size_t count) {
    Result<void*> memory = allocate_bytes(count * sizeof(T));
    if (!memory) return memory.status();
    return std::span<T>(static_cast<T*>(*memory), count);
  }
  Result<void*> allocate_bytes(std::size_t bytes);
  void free(void* memory);

 private:
  friend class Gradients;
  class Impl;
  explicit Group(std::unique_ptr<Impl> impl);
  static Status unequal(const char* operation, std::size_t expected, std::size_t found);
  static GroupWork failed(Status status);
  Status weighted_mean(const void* in, void* out, std::size_t count, DataType type, double weight,
                       RouteChoice route);
  Status reproducible_sum(std::span<const void* const> contributions, void* out, std::size_t count,
                          DataType type, RouteChoice route);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg
