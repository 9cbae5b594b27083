#include "cli/work/exchange_meter.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace thalweg {
namespace {

constexpr std::uint32_t kWarmups = 3;

// What a rank contributes; small enough that every type adds it up exactly.
std::int64_t value(std::uint64_t rank, std::uint64_t element) {
  return static_cast<std::int64_t>((element * 2654435761u + rank * 40503u) >> 8 & 15);
}

// Where one rank's input and output lie within the vector, in elements.
struct Places {
  Group::Part in, out;
  bool has_result = true;
};

Places places_of(const Group& group, const ExchangeTask& task) {
  const Group::Part all{0, task.count}, own = group.own_part(task.count);
  switch (task.operation) {
    case Operation::kReduceScatter:
      return {all, own};
    case Operation::kAllGather:
      return {own, all};
    case Operation::kReduce:
      return {all, all, group.rank() == 0};
    default:
      return {all, all};
  }
}

std::int64_t expected(const Group& group, const ExchangeTask& task, std::uint64_t element) {
  const std::uint32_t ranks = group.size();
  switch (task.operation) {
    case Operation::kBroadcast:
      return value(0, element);
    case Operation::kAllGather: {
      std::uint32_t owner = 0;
      while (element >= group.part(task.count, owner).begin + group.part(task.count, owner).count) ++owner;
      return value(owner, element);
    }
    case Operation::kAllToAll: {
      const std::uint64_t each = task.count / ranks;
      return value(element / each, group.rank() * each + element % each);
    }
    default:
      break;
  }
  std::int64_t all = value(0, element);
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    const std::int64_t next = value(rank, element);
    if (task.reduction == Reduction::kMin) all = std::min(all, next);
    if (task.reduction == Reduction::kMax) all = std::max(all, next);
    if (task.reduction == Reduction::kSum) all += next;
  }
  return all;
}

template <class T>
void fill(const Group& group, const Places& places, T* in) {
  for (std::uint64_t i = 0; i < places.in.count; ++i) {
    in[i] = static_cast<T>(value(group.rank(), places.in.begin + i));
  }
}

template <class T>
std::uint64_t count_wrong(const Group& group, const ExchangeTask& task, const Places& places, const T* out) {
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; places.has_result && i < places.out.count; ++i) {
    const auto right = static_cast<T>(expected(group, task, places.out.begin + i));
    wrong += std::memcmp(&out[i], &right, sizeof(T)) != 0 ? 1 : 0;
  }
  return wrong;
}

template <class T>
Result<ExchangeTiming> measure_typed(Group& group, const ExchangeTask& task, T* memory) {
  const Places places = places_of(group, task);
  // In place, the part lies where it belongs within the whole.
  T* const in = memory + (task.in_place ? places.in.begin : 0);
  T* const out = task.in_place ? memory + places.out.begin : memory + task.count;
  GroupCall call = Group::typed<T>(task.operation, in, places.has_result ? out : nullptr, task.count,
                                   task.reduction, task.route);
  if (task.operation == Operation::kBroadcast && group.rank() != 0 && !task.in_place) call.in = nullptr;

  for (std::uint32_t i = 0; i < kWarmups; ++i) {
    if (Status status = group.run(call); !status.ok()) return status;
  }
  if (Status status = group.barrier(); !status.ok()) return status;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t i = 0; i < task.iterations; ++i) {
    if (Status status = group.run(call); !status.ok()) return status;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  double seconds = took.count() / task.iterations;
  if (!task.checks) {
    Status status = group.all_reduce(std::span(&seconds, 1), Reduction::kMax);
    return status.ok() ? Result<ExchangeTiming>(ExchangeTiming{seconds, 0, {}}) : status;
  }

  fill(group, places, in);
  if (!task.in_place) std::fill_n(out, places.out.count, T{99});
  if (task.operation == Operation::kBroadcast && !task.in_place && group.rank() == 0)
    std::copy_n(in, task.count, out);
  const std::uint64_t sent_before = group.bytes_sent();
  if (Status status = group.run(call); !status.ok()) return status;
  const std::uint64_t sent = group.bytes_sent() - sent_before;
  std::uint64_t wrong = count_wrong(group, task, places, out);
  if (Status status = group.all_reduce(std::span(&seconds, 1), Reduction::kMax); !status.ok()) return status;
  if (Status status = group.all_reduce(std::span(&wrong, 1)); !status.ok()) return status;
  ExchangeTiming timing{seconds, wrong, std::vector<std::uint64_t>(group.size())};
  if (Status status = group.all_gather<std::uint64_t>({&sent, 1}, timing.bytes_sent); !status.ok())
    return status;
  return timing;
}

}  // namespace

Result<ExchangeTiming> measure(Group& group, const ExchangeTask& task, std::byte* memory) {
  void* const any = memory;
  switch (task.type) {
    case DataType::kF32:
      return measure_typed(group, task, static_cast<float*>(any));
    case DataType::kF64:
      return measure_typed(group, task, static_cast<double*>(any));
    case DataType::kI32:
      return measure_typed(group, task, static_cast<std::int32_t*>(any));
    case DataType::kI64:
      return measure_typed(group, task, static_cast<std::int64_t*>(any));
    case DataType::kU64:
      return measure_typed(group, task, static_cast<std::uint64_t*>(any));
    case DataType::kF16:
    case DataType::kBf16:
      break;
  }
  return Status(Code::kUsage, "16-bit types are not measured");
}

// As nccl-tests has it, doc/PERFORMANCE.md there.
double bus_factor(Operation operation, std::uint32_t ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  switch (operation) {
    case Operation::kAllReduce:
      return 2 * others;
    case Operation::kReduceScatter:
    case Operation::kAllGather:
    case Operation::kAllToAll:
      return others;
    default:
      return 1;
  }
}

}  // namespace thalweg
