// Ranks that combine and move vectors together: all-reduce and its kin, among threads, processes and
// machines. docs/exchange.md has runnable programs.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/group_call.h"
#include "thalweg/group_options.h"
#include "thalweg/sparse_rows.h"
#include "thalweg/status.h"
#include "thalweg/task.h"

namespace thalweg {

// An operation under way. Its buffers, and its group, stay as they are until it is done.
class [[nodiscard]] GroupWork {
 public:
  bool done() const;
  // Blocks until the operation has ended, and says how. kUsage: on the group's own thread, which ends it.
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

// An operation on buffers that stay where they are, planned, checked and given its memory once, to be done as
// often as its caller likes: run() makes none of it anew. It goes as Group::run() and start() of the call do,
// and matches those of ranks that have not prepared it. One at a time; the group outlives it.
class [[nodiscard]] PreparedOperation {
 public:
  PreparedOperation(PreparedOperation&& other) noexcept;
  PreparedOperation& operator=(PreparedOperation&& other) noexcept;
  ~PreparedOperation();  // Waits for what was started.
  Status run();
  GroupWork start();

 private:
  friend class Group;
  struct State;
  explicit PreparedOperation(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
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
  // What the call points to but its buffers need not outlive this. Errors: kUsage, as of run().
  Result<PreparedOperation> prepare(const GroupCall& call);

  // What follows is run, or with _async started; a buffer of another size than said is kUsage.
  //
  // out[i] = the combination of all ranks' in[i], on every rank. Sums of one configuration have the same bits
  // every time and on every rank. `in` and `out` may be the same memory, else must not overlap. All ranks but
  // a route's servers, see RouteChoice::servers().
  template <class T>
  Status all_reduce(std::span<const T> in, std::span<T> out, Combine how = {}, RouteChoice route = {}) {
    return run(all_reduce_call<T>(in, out, how, std::move(route)));
  }
  template <class T>
  GroupWork all_reduce_async(std::span<const T> in, std::span<T> out, Combine how = {},
                             RouteChoice route = {}) {
    return start(all_reduce_call<T>(in, out, how, std::move(route)));
  }
  template <class T>
  Status all_reduce(std::span<T> data, Combine how = {}, RouteChoice route = {}) {
    return all_reduce<T>(data, data, how, std::move(route));
  }
  template <class T>
  GroupWork all_reduce_async(std::span<T> data, Combine how = {}, RouteChoice route = {}) {
    return all_reduce_async<T>(data, data, how, std::move(route));
  }
  // out[i] = sum over ranks of weight * in[i], divided by the sum of weights, for float and double: the mean
  // of all items when each rank gives the mean of `weight` of its own. Weights are >= 0, one of them above 0,
  // and their sum is finite: kUsage at all ranks otherwise, which may go on. The route has no servers.
  template <class T>
  Status weighted_mean(std::span<const T> in, std::span<T> out, double weight, RouteChoice route = {}) {
    const Result<GroupCall> call = all_reduce_call<T>(in, out, {}, std::move(route));
    return call ? weighted_mean(*call, weight) : call.status();
  }
  template <class T>
  GroupWork weighted_mean_async(std::span<const T> in, std::span<T> out, double weight,
                                RouteChoice route = {}) {
    const Result<GroupCall> call = all_reduce_call<T>(in, out, {}, std::move(route));
    return call ? weighted_mean_async(*call, weight) : failed(call.status());
  }
  // out = the sum of all ranks' contributions, any number of vectors of out.size() elements each, with bits
  // that depend on the set of contributions alone, for float and double. At most 65535 in all.
  template <class T>
  Status reproducible_sum(std::span<const T* const> contributions, std::span<T> out, RouteChoice route = {}) {
    const std::vector<const void*> vectors(contributions.begin(), contributions.end());
    return reproducible_sum(vectors, result_call(out, std::move(route)));
  }
  template <class T>
  GroupWork reproducible_sum_async(std::span<const T* const> contributions, std::span<T> out,
                                   RouteChoice route = {}) {
    const std::vector<const void*> vectors(contributions.begin(), contributions.end());
    return reproducible_sum_async(vectors, result_call(out, std::move(route)));
  }
  // sum = the union of all ranks' keys, ascending, with the sum of the rows that each rank has of it: `dim`
  // floats a key, none where the keys alone are wanted. `keys` ascend strictly, as numbers or as a store
  // orders its own (`*Keys::of(...).values()`). The same bits on every rank, whichever way, and those of the
  // servers' sums over data shards. `sum` is none of the buffers that go in. Errors besides: kUsage at all
  // ranks, which may go on, where their options differ or they bring more than SparseOptions::bytes_max.
  Status all_reduce_sparse(std::span<const std::uint64_t> keys, std::span<const float> rows, std::size_t dim,
                           SparseRows& sum, const SparseOptions& options = {});
  GroupWork all_reduce_sparse_async(std::span<const std::uint64_t> keys, std::span<const float> rows,
                                    std::size_t dim, SparseRows& sum, const SparseOptions& options = {});
  // As all_reduce, for `root` alone; elsewhere `out` may be empty.
  template <class T>
  Status reduce(std::span<const T> in, std::span<T> out, std::uint32_t root = 0, Combine how = {},
                RouteChoice route = {}) {
    return run(reduce_call<T>(in, out, root, how, std::move(route)));
  }
  template <class T>
  GroupWork reduce_async(std::span<const T> in, std::span<T> out, std::uint32_t root = 0, Combine how = {},
                         RouteChoice route = {}) {
    return start(reduce_call<T>(in, out, root, how, std::move(route)));
  }
  // out = this rank's part of the combination; out.size() = own_part(in.size()).count. In place: `out` is
  // that part of `in`.
  template <class T>
  Status reduce_scatter(std::span<const T> in, std::span<T> out, Combine how = {}, RouteChoice route = {}) {
    return run(reduce_scatter_call<T>(in, out, how, std::move(route)));
  }
  template <class T>
  GroupWork reduce_scatter_async(std::span<const T> in, std::span<T> out, Combine how = {},
                                 RouteChoice route = {}) {
    return start(reduce_scatter_call<T>(in, out, how, std::move(route)));
  }
  // out = all ranks' `in`, in their order; in.size() = own_part(out.size()).count, or the rank's of `counts`.
  // In place: `in` is that part of `out`.
  template <class T>
  Status all_gather(std::span<const T> in, std::span<T> out, std::span<const std::size_t> counts = {},
                    RouteChoice route = {}) {
    return run(all_gather_call<T>(in, out, counts, std::move(route)));
  }
  template <class T>
  GroupWork all_gather_async(std::span<const T> in, std::span<T> out,
                             std::span<const std::size_t> counts = {}, RouteChoice route = {}) {
    return start(all_gather_call<T>(in, out, counts, std::move(route)));
  }
  // Everywhere what `root` has in `data`.
  template <class T>
  Status broadcast(std::span<T> data, std::uint32_t root = 0, RouteChoice route = {}) {
    return run(broadcast_call(data, root, std::move(route)));
  }
  template <class T>
  GroupWork broadcast_async(std::span<T> data, std::uint32_t root = 0, RouteChoice route = {}) {
    return start(broadcast_call(data, root, std::move(route)));
  }
  // out = all ranks' `in`, at `root`; elsewhere `out` may be empty. All give the same number of elements.
  template <class T>
  Status gather(std::span<const T> in, std::span<T> out, std::uint32_t root = 0, RouteChoice route = {}) {
    return run(gather_call<T>(in, out, root, std::move(route)));
  }
  template <class T>
  GroupWork gather_async(std::span<const T> in, std::span<T> out, std::uint32_t root = 0,
                         RouteChoice route = {}) {
    return start(gather_call<T>(in, out, root, std::move(route)));
  }
  // out = this rank's part of the root's `in`, which may be empty elsewhere. All get the same number.
  template <class T>
  Status scatter(std::span<const T> in, std::span<T> out, std::uint32_t root = 0, RouteChoice route = {}) {
    return run(scatter_call<T>(in, out, root, std::move(route)));
  }
  template <class T>
  GroupWork scatter_async(std::span<const T> in, std::span<T> out, std::uint32_t root = 0,
                          RouteChoice route = {}) {
    return start(scatter_call<T>(in, out, root, std::move(route)));
  }
  // Sends the r-th part of `in` to rank r; out = what all ranks sent here, in their order. Parts are
  // in.size() / size() elements, or in_counts[r] elements for rank r and out_counts[r] from it.
  template <class T>
  Status all_to_all(std::span<const T> in, std::span<T> out, std::span<const std::size_t> in_counts = {},
                    std::span<const std::size_t> out_counts = {}, RouteChoice route = {}) {
    return run(all_to_all_call<T>(in, out, in_counts, out_counts, std::move(route)));
  }
  template <class T>
  GroupWork all_to_all_async(std::span<const T> in, std::span<T> out,
                             std::span<const std::size_t> in_counts = {},
                             std::span<const std::size_t> out_counts = {}, RouteChoice route = {}) {
    return start(all_to_all_call<T>(in, out, in_counts, out_counts, std::move(route)));
  }
  // Returns, or ends, when all ranks have called it.
  Status barrier();
  GroupWork barrier_async();
  // One rank sends, the other receives as many elements; other ranks take no part.
  template <class T>
  Status send(std::span<const T> data, std::uint32_t to) {
    return run(message_call(data.data(), static_cast<T*>(nullptr), data.size(), rank(), to));
  }
  template <class T>
  GroupWork send_async(std::span<const T> data, std::uint32_t to) {
    return start(message_call(data.data(), static_cast<T*>(nullptr), data.size(), rank(), to));
  }
  template <class T>
  Status receive(std::span<T> data, std::uint32_t from) {
    return run(message_call(static_cast<const T*>(nullptr), data.data(), data.size(), from, rank()));
  }
  template <class T>
  GroupWork receive_async(std::span<T> data, std::uint32_t from) {
    return start(message_call(static_cast<const T*>(nullptr), data.data(), data.size(), from, rank()));
  }
  // Sends `in` to each of `neighbours`, which name this rank as well: out = their vectors, in the order of
  // `neighbours`. Any graph will do. All ranks call it; one without neighbours neither sends nor waits.
  template <class T>
  Status exchange_with(std::span<const std::uint32_t> neighbours, std::span<const T> in, std::span<T> out) {
    return run(neighbours_call<T>(neighbours, in, out));
  }
  template <class T>
  GroupWork exchange_with_async(std::span<const std::uint32_t> neighbours, std::span<const T> in,
                                std::span<T> out) {
    return start(neighbours_call<T>(neighbours, in, out));
  }
  // A step of gossip: exchange_with(), then mix(); weights[k] is that of neighbour k.
  template <class T>
  Status mix_with(std::span<const std::uint32_t> neighbours, std::span<const T> weights, std::span<T> data) {
    if (weights.size() != neighbours.size()) return unequal("neighbours", neighbours.size(), weights.size());
    std::vector<T> theirs(neighbours.size() * data.size());
    Status status = exchange_with<T>(neighbours, data, theirs);
    if (status.ok()) mix_joined<T>(data, theirs, weights);
    return status;
  }
  template <class T>
  GroupWork mix_with_async(std::span<const std::uint32_t> neighbours, std::span<const T> weights,
                           std::span<T> data) {
    if (weights.size() != neighbours.size()) {
      return failed(unequal("neighbours", neighbours.size(), weights.size()));
    }
    const auto theirs = std::make_shared<std::vector<T>>(neighbours.size() * data.size());
    const Result<GroupCall> call = neighbours_call<T>(neighbours, data, *theirs);
    if (!call) return failed(call.status());
    return start(*call, [data, theirs, its_weights = std::vector<T>(weights.begin(), weights.end())] {
      mix_joined<T>(data, *theirs, its_weights);
    });
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
  // zeroed; freed with the group at the latest. Any memory may be used in operations. Errors: kIo,
  // also where no memory is as large.
  template <class T>
  Result<std::span<T>> allocate(std::size_t count) {
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
    Result<void*> memory = allocate_bytes(count <= kMost / sizeof(T) ? count * sizeof(T) : kMost);
    if (!memory) return memory.status();
    return std::span<T>(static_cast<T*>(*memory), count);
  }
  Result<void*> allocate_bytes(std::size_t bytes);
  void free(void* memory);

 private:
  friend class Gradients;
  friend class PreparedOperation;
  friend class StartedSeries;
  class Impl;
  explicit Group(std::unique_ptr<Impl> impl);
  static Status unequal(const char* operation, std::size_t expected, std::size_t found);
  Status check_counts(Operation operation, std::span<const std::size_t> counts, std::size_t whole) const;
  static GroupWork failed(Status status);
  Status run(const Result<GroupCall>& call) { return call ? run(*call) : call.status(); }
  GroupWork start(const Result<GroupCall>& call) { return call ? start(*call) : failed(call.status()); }
  // `then` is called where it ended well, before anybody is told.
  GroupWork start(const GroupCall& call, const std::function<void()>& then);
  Status weighted_mean(const GroupCall& call, double weight);
  GroupWork weighted_mean_async(const GroupCall& call, double weight);
  Status reproducible_sum(std::span<const void* const> contributions, const GroupCall& call);
  GroupWork reproducible_sum_async(std::span<const void* const> contributions, const GroupCall& call);

  template <class T>
  Result<GroupCall> all_reduce_call(std::span<const T> in, std::span<T> out, Combine how, RouteChoice route) {
    if (in.size() != out.size()) return unequal("all-reduce", in.size(), out.size());
    return typed<T>(Operation::kAllReduce, in.data(), out.data(), in.size(), how, std::move(route));
  }
  template <class T>
  static GroupCall result_call(std::span<T> out, RouteChoice route) {
    return typed<T>(Operation::kAllReduce, nullptr, out.data(), out.size(), {}, std::move(route));
  }
  template <class T>
  Result<GroupCall> reduce_call(std::span<const T> in, std::span<T> out, std::uint32_t root, Combine how,
                                RouteChoice route) {
    if (rank() == root && in.size() != out.size()) return unequal("reduce", in.size(), out.size());
    T* const result = rank() == root ? out.data() : nullptr;
    GroupCall call = typed<T>(Operation::kReduce, in.data(), result, in.size(), how, std::move(route));
    call.root = root;
    return call;
  }
  template <class T>
  Result<GroupCall> reduce_scatter_call(std::span<const T> in, std::span<T> out, Combine how,
                                        RouteChoice route) {
    if (out.size() != own_part(in.size()).count) {
      return unequal("reduce-scatter", own_part(in.size()).count, out.size());
    }
    return typed<T>(Operation::kReduceScatter, in.data(), out.data(), in.size(), how, std::move(route));
  }
  template <class T>
  Result<GroupCall> all_gather_call(std::span<const T> in, std::span<T> out,
                                    std::span<const std::size_t> counts, RouteChoice route) {
    if (!counts.empty()) {
      if (Status status = check_counts(Operation::kAllGather, counts, out.size()); !status.ok())
        return status;
    }
    const std::size_t own = counts.empty() ? own_part(out.size()).count : counts[rank()];
    if (in.size() != own) return unequal("all-gather", own, in.size());
    GroupCall call = typed<T>(Operation::kAllGather, in.data(), out.data(), out.size(), {}, std::move(route));
    call.counts = counts;
    return call;
  }
  template <class T>
  static GroupCall broadcast_call(std::span<T> data, std::uint32_t root, RouteChoice route) {
    GroupCall call =
        typed<T>(Operation::kBroadcast, data.data(), data.data(), data.size(), {}, std::move(route));
    call.root = root;
    return call;
  }
  template <class T>
  Result<GroupCall> gather_call(std::span<const T> in, std::span<T> out, std::uint32_t root,
                                RouteChoice route) {
    const std::size_t whole = in.size() * size();
    if (rank() == root && out.size() != whole) return unequal("gather", whole, out.size());
    T* const result = rank() == root ? out.data() : nullptr;
    GroupCall call = typed<T>(Operation::kGather, in.data(), result, whole, {}, std::move(route));
    call.root = root;
    return call;
  }
  template <class T>
  Result<GroupCall> scatter_call(std::span<const T> in, std::span<T> out, std::uint32_t root,
                                 RouteChoice route) {
    const std::size_t whole = out.size() * size();
    if (rank() == root && in.size() != whole) return unequal("scatter", whole, in.size());
    GroupCall call = typed<T>(Operation::kScatter, in.data(), out.data(), whole, {}, std::move(route));
    call.root = root;
    return call;
  }
  template <class T>
  Result<GroupCall> all_to_all_call(std::span<const T> in, std::span<T> out,
                                    std::span<const std::size_t> in_counts,
                                    std::span<const std::size_t> out_counts, RouteChoice route) {
    if (in_counts.empty() && in.size() != out.size()) return unequal("all-to-all", in.size(), out.size());
    if (!out_counts.empty()) {
      Status status = check_counts(Operation::kAllToAll, out_counts, out.size());
      if (!status.ok()) return status;
    }
    GroupCall call = typed<T>(Operation::kAllToAll, in.data(), out.data(), in.size(), {}, std::move(route));
    call.counts = in_counts;
    call.counts_out = out_counts;
    return call;
  }
  template <class T>
  static GroupCall message_call(const T* in, T* out, std::size_t count, std::uint32_t from,
                                std::uint32_t to) {
    GroupCall call = typed<T>(Operation::kPointToPoint, in, out, count);
    call.root = from;
    call.peer = to;
    return call;
  }
  template <class T>
  static Result<GroupCall> neighbours_call(std::span<const std::uint32_t> neighbours, std::span<const T> in,
                                           std::span<T> out) {
    if (out.size() != neighbours.size() * in.size())
      return unequal("neighbours", neighbours.size() * in.size(), out.size());
    GroupCall call = typed<T>(Operation::kNeighbours, in.data(), out.data(), in.size());
    call.neighbours = neighbours;
    return call;
  }
  // mix() of vectors one behind the other.
  template <class T>
  static void mix_joined(std::span<T> data, std::span<const T> theirs, std::span<const T> weights) {
    std::vector<const T*> vectors;
    for (std::size_t k = 0; k < weights.size(); ++k) vectors.push_back(theirs.data() + k * data.size());
    mix<T>(data, vectors, weights);
  }

  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg
