// Adds up a vector over all ranks. Alone it is a group of one; start more with
//   thalweg run -n 4 -- ./all_reduce        or  mpirun -n 4 ./all_reduce        or  srun -n 4 ./all_reduce
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "thalweg/group.h"

int main() {
  const auto fail = [](const thalweg::Status& status) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  };
  const auto options = thalweg::group_options_from(std::getenv);
  if (!options) return fail(options.status());
  auto group = thalweg::Group::join(*options);
  if (!group) return fail(group.status());

  std::vector<float> data(1000, static_cast<float>(group->rank() + 1));
  if (const auto status = group->all_reduce(std::span(data)); !status.ok()) return fail(status);
  std::printf("rank %u of %u: sum %g\n", group->rank(), group->size(), static_cast<double>(data[0]));
}
