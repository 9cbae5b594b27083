// All-reduce of float32 sums by MPI, as bench/exchange_method.h says. Run it under mpirun:
//   mpi_exchange TRANSPORT [sizes|lists]    TRANSPORT only names what mpirun was told to use.
#include <mpi.h>

#include <string_view>

#include "bench/exchange_method.h"

namespace {

class MpiRanks {
 public:
  MpiRanks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const { return rank_; }
  int size() const { return size_; }
  void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
  int broadcast(int value) {
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
  }

 private:
  int rank_ = 0, size_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  using namespace thalweg::bench;
  if (argc < 2) return 2;
  MPI_Init(&argc, &argv);
  MpiRanks ranks;
  const Series series{"openmpi", argv[1], "default"};
  if (argc > 2 && std::string_view(argv[2]) == "lists") {
    measure_lists(ranks, series, [](std::span<float> data) {
      MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    });
  } else {
    bind_to_core(ranks);
    for (const std::size_t bytes : kSizes) {
      std::vector<float> in(bytes / sizeof(float)), out(in.size());
      fill(in, ranks.rank());
      const auto operation = [&] {
        MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      };
      operation();
      check_sum(out, ranks.size(), series);
      measure(ranks, series, "all-reduce", bytes, operation);
      check_sum(out, ranks.size(), series);
    }
  }
  MPI_Finalize();
}
