// Reproducible sums as a group's operations: an all-reduce of exponents, then the asked operation on integers
// (exchange/combine/reproducible.h). Which ways they take makes no difference to the bits.
#include "exchange/combine/reproducible.h"
#include "exchange/plan/plan.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>

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

Wanted wanted_of(const Group& group, const GroupCall& asked) {
  auto* const out = static_cast<std::byte*>(asked.out);
  if (asked.operation == Operation::kAllReduce) return {0, asked.count, out};
  if (asked.operation == Operation::kReduce) {
    return {0, group.rank() == asked.root ? asked.count : 0, out};
  }
  Group::Part part = group.own_part(asked.count);
  if (asked.counts.size() == group.size()) {
    part = {0, asked.counts[group.rank()]};
    for (std::uint32_t r = 0; r < group.rank(); ++r) part.begin += asked.counts[r];
  }
  return {part.begin, part.count, out};
}

// Each rank's part, in integers.
std::vector<std::size_t> integer_counts(const Group& group, const GroupCall& asked, std::size_t per_element) {
  std::vector<std::size_t> counts(asked.counts.begin(), asked.counts.end());
  if (counts.empty() && asked.operation == Operation::kReduceScatter) {
    for (std::uint32_t r = 0; r < group.size(); ++r) counts.push_back(group.part(asked.count, r).count);
  }
  for (std::size_t& count : counts) count *= per_element;
  return counts;
}

Status sum_in_stages(Group& group, const GroupCall& asked, Contributions contributions, bool serves) {
  const std::size_t per_element = reproducible::integers_per_element(asked.type);
  const std::size_t exponent_size = reproducible::exponent_bytes(asked.type);
  const Wanted wanted = wanted_of(group, asked);
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
  if (Status status = group.run(greatest); !status.ok()) return status;

  const std::vector<std::size_t> counts = integer_counts(group, asked, per_element);
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
  if (Status status = group.run(sum); !status.ok() || serves) return status;
  reproducible::decode(asked.type, exponents.get() + wanted.begin * exponent_size,
                       integers.get() + wanted.begin * per_element, wanted.count, wanted.out);
  return {};
}

}  // namespace

bool is_reproducible_sum(const GroupCall& asked) {
  return asked.combine.monoid().combine == nullptr &&
         asked.combine.reduction() == Reduction::kReproducibleSum && reproducible::supports(asked.type) &&
         combines(asked.operation);
}

Status run_reproducible_sum(Group& group, const GroupCall& asked) {
  const Wanted wanted = wanted_of(group, asked);
  const bool serves = asked.in == nullptr && asked.out == nullptr;  // Or a caller's error, found below.
  if (!serves && asked.count > 0 && (asked.in == nullptr || (wanted.count > 0 && wanted.out == nullptr))) {
    return {Code::kUsage,
            fmt::format("{}: `{}` is null", operation_name(asked.operation), asked.in ? "out" : "in")};
  }
  const Extents extents{size_bytes(asked.type), {wanted.begin, wanted.count}, asked.count, asked.count};
  if (Status status = check_overlap(asked, group.rank(), extents); !status.ok()) return status;
  const auto* const in = static_cast<const std::byte*>(asked.in);
  return sum_in_stages(group, asked, {&in, 1}, serves);
}

Status Group::reproducible_sum(std::span<const void* const> contributions, void* out, std::size_t count,
                               DataType type, RouteChoice route) {
  if (contributions.size() > reproducible::kContributionsMax / size()) {
    return {Code::kUsage,
            fmt::format("reproducible sum: {} contributions of a rank of {}; expected at most {} in all",
                        contributions.size(), size(), reproducible::kContributionsMax)};
  }
  GroupCall call;
  call.out = out;
  call.count = count;
  call.type = type;
  std::vector<const std::byte*> vectors;
  for (const void* vector : contributions) {
    vectors.push_back(static_cast<const std::byte*>(vector));
    call.in = vector;
    const Extents extents{size_bytes(type), {}, count, count};
    if (Status status = check_overlap(call, rank(), extents); !status.ok()) return status;
  }
  call.in = nullptr;
  call.route = std::move(route);
  return sum_in_stages(*this, call, vectors, false);
}

}  // namespace thalweg
