#include "client/group/group_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace thalweg {

Status wrong_call(Operation operation, std::string why) {
  return {Code::kUsage, fmt::format("{}: {}", operation_name(operation), why)};
}

bool has_parts(Operation operation) {
  return operation == Operation::kReduceScatter || operation == Operation::kAllGather ||
         operation == Operation::kGather || operation == Operation::kScatter ||
         operation == Operation::kAllToAll;
}

namespace {

bool is_integer(DataType type) {
  return type == DataType::kI32 || type == DataType::kI64 || type == DataType::kU64;
}

Status make_arithmetic(const GroupCall& asked, Arithmetic& made) {
  const Monoid& monoid = asked.combine.monoid();
  if (asked.combine.by_monoid()) {
    if (monoid.combine == nullptr)
      return wrong_call(asked,
                        fmt::format("the monoid '{}' has no `combine`; expected a function", monoid.name));
    if (monoid.element_bytes == 0) return wrong_call(asked, "a monoid's elements must have a size");
    made = Arithmetic::of(monoid);
    return ok_status();
  }
  const auto type = static_cast<std::size_t>(asked.type);
  const auto reduction = static_cast<std::size_t>(asked.combine.reduction());
  if (type >= kDataTypes || reduction >= kReductions) {
    return wrong_call(asked, fmt::format("type {} or reduction {} is unknown", type, reduction));
  }
  Reduction how = combines(asked.operation) ? asked.combine.reduction() : Reduction::kSum;
  if (how == Reduction::kReproducibleSum && is_integer(asked.type)) how = Reduction::kSum;  // Every sum is.
  made = Arithmetic::of(asked.type, how);
  if (made.combine == nullptr) {
    return wrong_call(asked, fmt::format("a reproducible sum of {} cannot be; expected f32 or f64",
                                         data_type_name(asked.type)));
  }
  return ok_status();
}

Status check_room(const GroupCall& asked, std::size_t elements, std::size_t element_bytes) {
  if (elements <= kVectorBytesMax / element_bytes) return ok_status();
  return wrong_call(asked, fmt::format("{} elements of {} bytes each; expected at most {} bytes", elements,
                                       element_bytes, kVectorBytesMax));
}

// What is above all that counts may add up to counts as that.
std::size_t sum_of(std::span<const std::size_t> counts) {
  std::size_t sum = 0;
  for (const std::size_t count : counts) {
    if (__builtin_add_overflow(sum, count, &sum)) return std::numeric_limits<std::size_t>::max();
  }
  return sum;
}

Status check_each_has_one(Operation operation, std::span<const std::size_t> counts, std::uint32_t ranks) {
  if (counts.size() == ranks) return ok_status();
  return wrong_call(operation,
                    fmt::format("got {} counts; expected one for each of {} ranks", counts.size(), ranks));
}

std::vector<std::uint64_t> begins_of(std::span<const std::size_t> counts) {
  std::vector<std::uint64_t> begins(counts.size() + 1);
  std::partial_sum(counts.begin(), counts.end(), begins.begin() + 1);
  return begins;
}

Status make_all_parts(const GroupCall& asked, std::uint32_t ranks, Call& made) {
  const bool to_all = asked.operation == Operation::kAllToAll;
  if (!has_parts(asked.operation) && !asked.counts.empty())
    return wrong_call(asked, "it has no parts to count");
  if (to_all ? asked.counts.empty() != asked.counts_out.empty() : !asked.counts_out.empty())
    return wrong_call(asked, "counts and counts_out must be given together, for all-to-all alone");
  if (asked.counts.empty()) {
    if (!to_all || asked.count % ranks == 0) return ok_status();
    return wrong_call(asked,
                      fmt::format("{} elements do not part equally among {} ranks; give counts of both sides",
                                  asked.count, ranks));
  }
  Status status = check_counts(asked.operation, asked.counts, ranks, asked.count);
  if (!status.ok()) return status;
  made.parts = begins_of(asked.counts);
  if (!to_all) return status;
  status = check_each_has_one(asked.operation, asked.counts_out, ranks);
  if (status.ok()) status = check_room(asked, sum_of(asked.counts_out), made.arithmetic.element_bytes);
  if (status.ok()) made.parts_out = begins_of(asked.counts_out);
  return status;
}

Status make_neighbours(const GroupCall& asked, std::uint32_t rank, std::uint32_t ranks, Call& made) {
  if (asked.operation != Operation::kNeighbours && !asked.neighbours.empty())
    return wrong_call(asked, "it has no neighbours");
  made.neighbours.assign(asked.neighbours.begin(), asked.neighbours.end());
  for (std::size_t i = 0; i < made.neighbours.size(); ++i) {
    const std::uint32_t each = made.neighbours[i];
    if (each >= ranks || each == rank) {
      return wrong_call(
          asked, fmt::format("rank {} names {} as its neighbour; expected another one of a group of {}", rank,
                             each, ranks));
    }
    const auto before = made.neighbours.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(made.neighbours.begin(), before, each) != before)
      return wrong_call(asked, fmt::format("rank {} names its neighbour {} twice", rank, each));
  }
  return ok_status();
}

}  // namespace

Status check_counts(Operation operation, std::span<const std::size_t> counts, std::uint32_t ranks,
                    std::size_t whole) {
  Status status = check_each_has_one(operation, counts, ranks);
  if (!status.ok() || sum_of(counts) == whole) return status;
  return wrong_call(operation, fmt::format("the counts' sum is {}; expected {}", sum_of(counts), whole));
}

Status make_call(const GroupCall& asked, std::uint32_t rank, std::uint32_t ranks, Call& made) {
  if (static_cast<std::size_t>(asked.operation) >= kOperations)
    return {Code::kUsage, "the operation is unknown"};
  if (has_root(asked.operation) && asked.root >= ranks) {
    return wrong_call(asked, fmt::format("root {} is no rank of a group of {}", asked.root, ranks));
  }
  if (asked.operation == Operation::kPointToPoint) {
    if (asked.peer >= ranks)
      return wrong_call(asked, fmt::format("{} is no rank of a group of {}", asked.peer, ranks));
    if ((asked.root == rank) == (asked.peer == rank)) {
      return wrong_call(asked, fmt::format("rank {} must be either its sender or its receiver", rank));
    }
  }
  if (Status status = make_arithmetic(asked, made.arithmetic); !status.ok()) return status;
  if (Status status = check_room(asked, asked.count, made.arithmetic.element_bytes); !status.ok())
    return status;
  if (Status status = make_all_parts(asked, ranks, made); !status.ok()) return status;
  if (Status status = make_neighbours(asked, rank, ranks, made); !status.ok()) return status;
  made.operation = asked.operation;
  made.count = asked.count;
  made.root = asked.root;
  made.peer = asked.peer;
  made.in = static_cast<const std::byte*>(asked.in);
  made.out = static_cast<std::byte*>(asked.out);
  return ok_status();
}

Status check_all_contribute(const char* what, const RouteChoice& route) {
  if (route.servers() == 0) return ok_status();
  return {Code::kUsage,
          fmt::format("{}: its route's last ranks ({}) would be servers, which contribute nothing "
                      "and get no result; expected a route without servers",
                      what, route.servers())};
}

Status check_call(GroupCall asked, std::uint32_t rank, std::uint32_t ranks) {
  asked.combine = Reduction::kSum;
  Call made;
  Status status = make_call(asked, rank, ranks, made);
  return status.ok() ? check_buffers(asked, made, rank, false) : status;
}

}  // namespace thalweg
