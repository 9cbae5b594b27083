// All-reduce of float32 sums by Gloo over TCP on loopback, as bench/exchange_method.h says:
//   gloo_exchange RANKS ring-chunked|halving-doubling [sizes|lists]
// Starts RANKS processes itself. Gloo sums in place, so that values grow from operation to operation; each
// check starts from fresh ones.
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string_view>

#include "bench/exchange_method.h"

namespace {

using namespace thalweg::bench;

class GlooRanks {
 public:
  GlooRanks(int rank, int size, const std::string& folder) : store_(folder) {
    gloo::transport::tcp::attr where;
    where.iface = "lo";
    device_ = gloo::transport::tcp::CreateDevice(where);
    context_ = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context_->connectFullMesh(store_, device_);
  }
  int rank() const { return context_->rank; }
  int size() const { return context_->size; }
  void barrier() {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  int broadcast(int value) {
    gloo::BroadcastOptions options(context_);
    options.setOutput(&value, 1);
    options.setRoot(0);
    gloo::broadcast(options);
    return value;
  }
  std::unique_ptr<gloo::Algorithm> all_reduce(const std::string& name, std::span<float> data) {
    const std::vector<float*> pointers = {data.data()};
    const int count = static_cast<int>(data.size());
    if (name == "ring-chunked")
      return std::make_unique<gloo::AllreduceRingChunked<float>>(context_, pointers, count);
    return std::make_unique<gloo::AllreduceHalvingDoubling<float>>(context_, pointers, count);
  }

 private:
  gloo::rendezvous::FileStore store_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
};

void measure_sizes(GlooRanks& ranks, const Series& series) {
  bind_to_core(ranks);
  for (const std::size_t bytes : kSizes) {
    std::vector<float> data(bytes / sizeof(float));
    const auto algorithm = ranks.all_reduce(series.algorithm, data);
    const auto operation = [&] { algorithm->run(); };
    const auto check = [&] {
      fill(data, ranks.rank());
      ranks.barrier();
      operation();
      check_sum(data, ranks.size(), series);
      ranks.barrier();
    };
    check();
    measure(ranks, series, "all-reduce", bytes, operation);
    check();
  }
}

// An algorithm belongs to one buffer, so that the tensors of a list pass through it.
void measure_tensors(GlooRanks& ranks, const Series& series) {
  struct Stage {
    std::vector<float> buffer;
    std::unique_ptr<gloo::Algorithm> algorithm;
  };
  std::map<std::size_t, Stage> stages;
  measure_lists(ranks, series, [&](std::span<float> data) {
    Stage& stage = stages[data.size()];
    if (!stage.algorithm) {
      stage.buffer.resize(data.size());
      stage.algorithm = ranks.all_reduce(series.algorithm, stage.buffer);
    }
    std::copy(data.begin(), data.end(), stage.buffer.begin());
    stage.algorithm->run();
    std::copy(stage.buffer.begin(), stage.buffer.end(), data.begin());
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int size = std::atoi(argv[1]);
  const Series series{"gloo", "tcp", argv[2]};
  char folder[] = "/tmp/gloo_exchange-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return 1;
  const pid_t starter = ::getpid();
  int rank = 0;
  for (int r = 1; r < size && ::getpid() == starter; ++r) {
    if (::fork() == 0) rank = r;
  }
  {
    GlooRanks ranks(rank, size, folder);
    if (argc > 3 && std::string_view(argv[3]) == "lists") {
      measure_tensors(ranks, series);
    } else {
      measure_sizes(ranks, series);
    }
    ranks.barrier();
  }
  if (::getpid() != starter) ::_exit(0);
  int failed = 0;
  for (int status = 0; ::wait(&status) > 0;) failed |= status;
  std::filesystem::remove_all(folder);
  return failed == 0 ? 0 : 1;
}
