// Reproducible sums as a group's operations: an all-reduce of exponents, then the asked operation on integers
// (exchange/combine/reproducible.h). Which ways they take makes no difference to the bits.
#include "exchange/combine/reproducible.h"
#include "exchange/plan/plan.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "client/collective/group_steps.h"
#include "client/collective/reproducible_sum.h"
#include "client/group/group_call.h"
#include "client/group/group_impl.h"

namespace thalweg {
namespace {

using Contributions = std::span<const std::byte* const>;

// This rank's elements of the result, and where its caller wants them.
struct Wanted {
  std::size_t begin = 0;
  std::size_t count = 0;
  std::byte* out = nullptr;
};

Wanted wanted_of(std::uint32_t rank, std::uint32_t ranks, const GroupCall& asked) {
  auto* const out = static_cast<std::byte*>(asked.out);
  if (asked.operation == Operation::kAllReduce) return {0, asked.count, out};
  if (asked.operation == Operation::kReduce) {
    return {0, rank == asked.root ? asked.count : 0, out};
  }
  Block part = part_of({0, asked.count}, ranks, rank);
  if (asked.counts.size() == ranks) {
    part = {0, asked.counts[rank]};
    for (std::uint32_t r = 0; r < rank; ++r) part.begin += asked.counts[r];
  }
  return {part.begin, part.count, out};
}

// Each rank's part, in integers.
std::vector<std::size_t> integer_counts(std::uint32_t ranks, const GroupCall& asked,
                                        std::size_t per_element) {
  std::vector<std::size_t> counts(asked.counts.begin(), asked.counts.end());
  if (counts.empty() && asked.operation == Operation::kReduceScatter) {
    for (std::uint32_t r = 0; r < ranks; ++r) counts.push_back(part_of({0, asked.count}, ranks, r).count);
  }
  for (std::size_t& count : counts) count *= per_element;
  return counts;
}

// `own_counts`: those of `asked`, which need not outlive the call.
Task<Status> sum_in_stages(GroupSteps& steps, GroupCall asked, std::vector<std::size_t> own_counts,
                           std::vector<const std::byte*> contributions, bool serves) {
  asked.counts = own_counts;
  const std::size_t per_element = reproducible::integers_per_element(asked.type);
  const std::size_t exponent_size = reproducible::exponent_bytes(asked.type);
  const Wanted wanted = wanted_of(steps.rank, steps.size, asked);
  const std::unique_ptr<std::byte[]> exponents(serves ? nullptr : new std::byte[asked.count * exponent_size]);
  const std::unique_ptr<std::int64_t[]> integers(serves ? nullptr
                                                        : new std::int64_t[asked.count * per_element]);

  GroupCall greatest;
  greatest.in = greatest.out = exponents.get();
  greatest.count = asked.count;
  greatest.combine = reproducible::exponents_monoid(asked.type);
  if (asked.operation == Operation::kAllReduce) greatest.route = asked.route;
  greatest.timeout = asked.timeout;
  if (!serves) reproducible::encode_exponents(asked.type, contributions, asked.count, exponents.get());
  if (Status status = co_await steps.take(greatest); !status.ok()) co_return status;

  const std::vector<std::size_t> counts = integer_counts(steps.size, asked, per_element);
  GroupCall sum = asked;
  sum.in = sum.out = integers.get();
  if (asked.operation == Operation::kReduceScatter && !serves)
    sum.out = integers.get() + wanted.begin * per_element;
  sum.count = asked.count * per_element;
  sum.type = DataType::kI64;
  sum.combine = Reduction::kSum;
  sum.counts = counts;
  if (!serves) {
    reproducible::encode_integers(asked.type, contributions, asked.count, exponents.get(), integers.get());
  }
  if (Status status = co_await steps.take(sum); !status.ok() || serves) co_return status;
  reproducible::decode(asked.type, exponents.get() + wanted.begin * exponent_size,
                       integers.get() + wanted.begin * per_element, wanted.count, wanted.out);
  co_return ok_status();
}

// An operation that can be.
struct ReproducibleSum {
  GroupCall asked;
  std::vector<const std::byte*> contributions;
  bool serves = false;

  Task<Status> begin(GroupSteps& steps) const {
    return sum_in_stages(steps, asked, {asked.counts.begin(), asked.counts.end()}, contributions, serves);
  }
};

Result<ReproducibleSum> checked_sum(const Group& group, const GroupCall& asked) {
  const bool serves = asked.in == nullptr && asked.out == nullptr;  // Or a caller's error, found below.
  Status status = serves ? ok_status() : check_call(asked, group.rank(), group.size());
  if (!status.ok()) return status;
  const Wanted wanted = wanted_of(group.rank(), group.size(), asked);
  const Extents extents{size_bytes(asked.type), {wanted.begin, wanted.count}, asked.count, asked.count};
  status = check_overlap(asked, group.rank(), extents);
  if (!status.ok()) return status;
  return ReproducibleSum{asked, {static_cast<const std::byte*>(asked.in)}, serves};
}

Result<ReproducibleSum> checked_sum(const Group& group, GroupCall asked,
                                    std::span<const void* const> vectors) {
  if (vectors.size() > reproducible::kContributionsMax / group.size()) {
    return Status(
        Code::kUsage,
        fmt::format("reproducible sum: {} contributions of a rank of {}; expected at most {} in all",
                    vectors.size(), group.size(), reproducible::kContributionsMax));
  }
  asked.in = asked.out;
  if (Status status = check_call(asked, group.rank(), group.size()); !status.ok()) return status;
  ReproducibleSum sum;
  for (const void* vector : vectors) {
    if (vector == nullptr && asked.count > 0)
      return Status(Code::kUsage, "reproducible sum: a contribution is null");
    sum.contributions.push_back(static_cast<const std::byte*>(vector));
    asked.in = vector;
    const Extents extents{size_bytes(asked.type), {}, asked.count, asked.count};
    if (Status status = check_overlap(asked, group.rank(), extents); !status.ok()) return status;
  }
  asked.in = nullptr;
  sum.asked = std::move(asked);
  return sum;
}

Status run(Group& group, const Result<ReproducibleSum>& sum) {
  if (!sum) return sum.status();
  return run_in_steps(group, [&](GroupSteps& steps) { return sum->begin(steps); });
}

GroupWork start(Group& group, const Result<ReproducibleSum>& sum) {
  if (!sum) return StartedSeries::failed(sum.status());
  return StartedSeries::start(
      group, [&](GroupSteps& steps) { return sum->begin(steps); }, sum->asked.route);
}

}  // namespace

bool is_reproducible_sum(const GroupCall& asked) {
  return asked.combine.monoid().combine == nullptr &&
         asked.combine.reduction() == Reduction::kReproducibleSum && reproducible::supports(asked.type) &&
         combines(asked.operation);
}

Status run_reproducible_sum(Group& group, const GroupCall& asked) {
  return run(group, checked_sum(group, asked));
}

Status Group::reproducible_sum(std::span<const void* const> contributions, const GroupCall& call) {
  return thalweg::run(*this, checked_sum(*this, call, contributions));
}

GroupWork start_reproducible_sum(Group& group, const GroupCall& asked) {
  return start(group, checked_sum(group, asked));
}

GroupWork Group::reproducible_sum_async(std::span<const void* const> contributions, const GroupCall& call) {
  return thalweg::start(*this, checked_sum(*this, call, contributions));
}

}  // namespace thalweg
