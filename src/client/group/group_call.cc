#include "client/group/group_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace thalweg {

Status wrong_call(const GroupCall& asked, std::string why) {
  return {Code::kUsage, fmt::format("{}: {}", operation_name(asked.operation), why)};
}

bool has_root(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kBroadcast ||
         operation == Operation::kGather || operation == Operation::kScatter ||
         operation == Operation::kPointToPoint;
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
  if (monoid.combine != nullptr) {
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

Status make_parts(const GroupCall& asked, std::span<const std::size_t> counts, std::uint32_t ranks,
                  std::vector<std::uint64_t>& begins) {
  if (counts.size() != ranks) {
    return wrong_call(asked,
                      fmt::format("got {} counts; expected one for each of {} ranks", counts.size(), ranks));
  }
  begins.resize(ranks + std::size_t{1});
  std::partial_sum(counts.begin(), counts.end(), begins.begin() + 1);
  return ok_status();
}

Status make_all_parts(const GroupCall& asked, std::uint32_t ranks, Call& made) {
  const bool to_all = asked.operation == Operation::kAllToAll;
  if (!has_parts(asked.operation) && !asked.counts.empty())
    return wrong_call(asked, "it has no parts to count");
  if (to_all != !asked.counts_out.empty() && (!to_all || !asked.counts.empty())) {
    return wrong_call(asked, "counts and counts_out must be given together, for all-to-all alone");
  }
  if (asked.counts.empty()) {
    if (!to_all || asked.count % ranks == 0) return ok_status();
    return wrong_call(asked,
                      fmt::format("{} elements do not part equally among {} ranks; give counts of both sides",
                                  asked.count, ranks));
  }
  if (Status status = make_parts(asked, asked.counts, ranks, made.parts); !status.ok()) return status;
  if (made.parts.back() != asked.count) {
    return wrong_call(asked,
                      fmt::format("the counts' sum is {}; expected {}", made.parts.back(), asked.count));
  }
  return to_all ? make_parts(asked, asked.counts_out, ranks, made.parts_out) : ok_status();
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

}  // namespace thalweg
