// Uses the installed library as somebody else would.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "thalweg/batch.h"
#include "thalweg/options.h"
#include "thalweg/status.h"
#include "thalweg/store.h"
#include "thalweg/task.h"

int main() {
  const std::vector<thalweg::Key> keys = {7, 3, 7};
  std::vector<std::uint32_t> order;
  const thalweg::Keys placed = thalweg::Keys::of(keys, &order);
  if (placed.size() != 2 || order.size() != 3 || order[0] != order[2]) return 1;
  if (placed.key(order[0]) != 7 || placed.key(order[1]) != 3) return 1;
  std::printf("%s\n", thalweg::code_name(thalweg::Code::kRefused));
  return 0;
}
