// All-reduces, messages and lists of small tensors among processes, by thalweg::Group:
//   group_exchange RANKS shm|tcp|ucx [sizes|messages|lists]
// All-reduces and lists as bench/exchange_method.h says, with vectors in ordinary memory; over shm, where it
// makes a difference, all-reduces with vectors in the group's memory too.
#include <sys/wait.h>
#include <unistd.h>

#include <string_view>

#include "bench/exchange_method.h"
#include "net/socket/reserved_port.h"
#include "thalweg/gradients.h"
#include "thalweg/group.h"

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
    : what == "messages" ? measure_messages(*group, transport)
                         : measure_sizes(*group, transport);
    require(group->barrier());
  }
  if (::getpid() != starter) ::_exit(0);
  int failed = 0;
  for (int status = 0; ::wait(&status) > 0;) failed |= status;
  return failed == 0 ? 0 : 1;
}
