// All-reduces, messages, lists of small tensors, sparse sums and prepared operations among processes, by
// thalweg::Group:
//   group_exchange RANKS shm|tcp|ucx [sizes|messages|lists|sparse|prepared]
// All-reduces and lists as bench/exchange_method.h says, with vectors in ordinary memory; over shm, where it
// makes a difference, all-reduces with vectors in the group's memory too.
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "bench/exchange_method.h"
#include "net/socket/reserved_port.h"
#include "thalweg/gradients.h"
#include "thalweg/group.h"
#include "thalweg/store.h"

namespace {

using namespace thalweg;
using namespace thalweg::bench;

void require(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "thalweg: {}\n", status.message());
  ::_exit(1);
}

class GroupRanks {
 public:
  explicit GroupRanks(Group& group) : group_(group) {}
  int rank() const { return static_cast<int>(group_.rank()); }
  int size() const { return static_cast<int>(group_.size()); }
  void barrier() { require(group_.barrier()); }
  int broadcast(int value) {
    std::int32_t all = value;
    require(group_.broadcast(std::span(&all, 1)));
    return all;
  }

 private:
  Group& group_;
};

void measure_sum(Group& group, const Series& series, std::span<float> in, std::span<float> out) {
  GroupRanks ranks(group);
  fill(in, ranks.rank());
  const auto operation = [&] { require(group.all_reduce<float>(in, out)); };
  operation();
  check_sum(out, ranks.size(), series);
  measure(ranks, series, "all-reduce", in.size_bytes(), operation);
  check_sum(out, ranks.size(), series);
}

void measure_sizes(Group& group, const std::string& transport) {
  bind_to_core(GroupRanks(group));
  auto memory =
      group.allocate<float>(transport == "shm" ? 2 * kSizes[std::size(kSizes) - 1] / sizeof(float) : 0);
  require(memory.status());
  for (const std::size_t bytes : kSizes) {
    const std::size_t count = bytes / sizeof(float);
    if (transport == "shm") {
      measure_sum(group, {"thalweg", transport, "group memory"}, memory->first(count),
                  memory->subspan(count, count));
    }
    std::vector<float> in(count), out(count);
    measure_sum(group, {"thalweg", transport, "ordinary memory"}, in, out);
  }
}

// There and back for the time of one message; one after another for their rate.
void measure_messages(Group& group, const std::string& transport) {
  GroupRanks ranks(group);
  if (ranks.rank() > 1) return;
  bind_to_core(ranks);
  const std::uint32_t peer = 1 - group.rank();
  const Series series{"thalweg", transport, "default"};
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 20}) {
    std::vector<float> data(bytes / sizeof(float)), answer(data.size());
    fill(data, ranks.rank());
    const auto one_way = [&](std::uint32_t from) {
      if (from == group.rank()) {
        require(group.send<float>(data, peer));
      } else {
        require(group.receive<float>(answer, peer));
      }
    };
    const auto there_and_back = [&] {
      one_way(0);
      one_way(1);
    };
    there_and_back();
    for (std::size_t i = 0; i < answer.size(); ++i) {
      if (answer[i] != contribution(i, static_cast<int>(peer)))
        require({Code::kIo, "a message came out wrong"});
    }
    measure(ranks, series, "there and back", bytes, there_and_back);
    measure(ranks, series, "one way", bytes, [&] { one_way(0); });
  }
}

// The same list as a model's gradients, fused up to `bucket_bytes`; 0: each travels alone.
void measure_gradients(Group& group, const std::string& transport, std::uint64_t bucket_bytes) {
  GroupRanks ranks(group);
  GradientOptions options;
  options.bucket_bytes = bucket_bytes;
  options.reduction = Reduction::kSum;
  std::vector<GradientSpec> tensors(kTensors);
  for (std::size_t t = 0; t < kTensors; ++t) tensors[t] = {fmt::format("tensor {}", t), kTensorFloats};
  auto gradients = Gradients::create(group, std::move(tensors), options);
  require(gradients.status());
  const Series series{"thalweg", transport, bucket_bytes > 0 ? "gradients" : "gradients, unfused"};
  const auto operation = [&] {
    require(gradients->announce_all());
    require(gradients->wait_all());
  };
  const auto check = [&] {
    for (std::size_t t = 0; t < kTensors; ++t) fill(gradients->tensor(t), ranks.rank());
    operation();
    for (std::size_t t = 0; t < kTensors; ++t) check_sum(gradients->tensor(t), ranks.size(), series);
  };
  check();
  measure(ranks, series, series.algorithm.c_str(), kTensors * kTensorFloats * sizeof(float), operation);
  check();
}

void measure_tensors(Group& group, const std::string& transport) {
  GroupRanks ranks(group);
  measure_lists(ranks, {"thalweg", transport, "default"},
                [&](std::span<float> data) { require(group.all_reduce<float>(data)); });
  measure_gradients(group, transport, GradientOptions{}.bucket_bytes);
  measure_gradients(group, transport, 0);
}

constexpr std::size_t kSparseDim = 16;

// What a sparse sum takes the place of: all rows of all ranks come to each, which is then to add them up
// itself.
void gather_rows(Group& group, std::span<const std::uint64_t> keys, std::span<const float> rows) {
  const std::uint64_t mine[] = {keys.size()};
  std::vector<std::uint64_t> said(group.size());
  require(group.all_gather<std::uint64_t>(mine, said));
  std::vector<std::size_t> counts(said.begin(), said.end()), floats;
  std::size_t total = 0;
  for (const std::size_t count : counts) total += count, floats.push_back(count * kSparseDim);
  std::vector<std::uint64_t> all_keys(total);
  std::vector<float> all_rows(total * kSparseDim);
  require(group.all_gather<std::uint64_t>(keys, all_keys, counts));
  require(group.all_gather<float>(rows, all_rows, floats));
}

// Rows of which half of each rank's are at all ranks.
void measure_sparse(Group& group, const std::string& transport) {
  using Way = SparseOptions::Way;
  GroupRanks ranks(group);
  bind_to_core(ranks);
  for (const std::size_t count : {10, 100, 300, 1000, 10'000, 100'000}) {
    std::vector<Key> named;
    for (std::size_t i = 0; i < count; ++i)
      named.push_back(i % 2 == 0 ? i : (group.rank() + 1) * 2 * count + i);
    const Keys keys = Keys::of(named);
    const std::vector<float> rows(count * kSparseDim, 1.0F);
    const std::size_t bytes = count * (sizeof(Key) + kSparseDim * sizeof(float));
    SparseRows sum;
    const auto add_up = [&](Way way) {
      SparseOptions options;
      options.way = way;
      require(group.all_reduce_sparse(*keys.values(), rows, kSparseDim, sum, options));
    };
    const auto each = [&](const char* way, const auto& operation) {
      const std::uint64_t before = group.bytes_sent();
      operation();
      const auto sent = static_cast<double>(group.bytes_sent() - before) / static_cast<double>(bytes);
      measure(ranks, {"thalweg", transport, fmt::format("{}, sends {:.2f} times its own", way, sent)},
              "sparse", bytes, operation);
    };
    each("doubling", [&] { add_up(Way::kDoubling); });
    each("ranges", [&] { add_up(Way::kRanges); });
    each("gathered", [&] { gather_rows(group, *keys.values(), rows); });
  }
}

// A call and the same prepared, in turn, so that what else the machine does falls on both.
void measure_prepared(Group& group, const std::string& transport) {
  constexpr int kTurns = 41, kOperations = 500;
  GroupRanks ranks(group);
  bind_to_core(ranks);
  for (const std::size_t bytes : {4, 1024, 4096, 16384}) {
    std::vector<float> data(bytes / sizeof(float));
    const GroupCall call = Group::typed<float>(Operation::kAllReduce, data.data(), data.data(), data.size());
    auto prepared = group.prepare(call);
    require(prepared.status());
    std::vector<double> micros[2];
    for (int turn = 0; turn < 2 * kTurns; ++turn) {
      std::fill(data.begin(), data.end(), 0.0F);
      ranks.barrier();
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < kOperations; ++i) {
        require(turn % 2 == 0 ? group.all_reduce<float>(data) : prepared->run());
      }
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
      micros[turn % 2].push_back(took.count() / kOperations);
    }
    for (const int way : {0, 1}) {
      std::sort(micros[way].begin(), micros[way].end());
      if (ranks.rank() != 0) continue;
      fmt::print(
          "{{\"what\":\"all-reduce, "
          "{}\",\"transport\":\"{}\",\"ranks\":{},\"bytes\":{},\"us\":{:.3f},\"us_min\":{:.3f}}}\n",
          way == 0 ? "called" : "prepared", transport, ranks.size(), bytes, micros[way][kTurns / 2],
          micros[way].front());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string transport = argv[2];
  const std::string_view what = argc > 3 ? argv[3] : "sizes";
  GroupOptions options;
  options.size = static_cast<std::uint32_t>(std::atoi(argv[1]));
  const Result<ReservedPort> port = ReservedPort::reserve();
  require(port.status());
  options.master_port = port->number();
  options.transport = transport == "ucx"   ? GroupTransport::kUcx
                      : transport == "tcp" ? GroupTransport::kTcp
                                           : GroupTransport::kShm;
  const pid_t starter = ::getpid();
  for (std::uint32_t r = 1; r < options.size && ::getpid() == starter; ++r) {
    if (::fork() == 0) options.rank = r;
  }
  {
    Result<Group> group = Group::join(options);
    require(group.status());
    what == "lists"      ? measure_tensors(*group, transport)
    : what == "sparse"   ? measure_sparse(*group, transport)
    : what == "prepared" ? measure_prepared(*group, transport)
    : what == "messages" ? measure_messages(*group, transport)
                         : measure_sizes(*group, transport);
    require(group->barrier());
  }
  if (::getpid() != starter) ::_exit(0);
  int failed = 0;
  for (int status = 0; ::wait(&status) > 0;) failed |= status;
  return failed == 0 ? 0 : 1;
}
