#include "exchange/preface.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/mix.h"
#include "exchange/block.h"
#include "exchange/route/route.h"
#include "thalweg/reduction.h"

namespace thalweg {

std::uint64_t hash_of(const Plan& plan) {
  std::uint64_t hash = 0;
  const auto add = [&hash](std::uint64_t value) { hash = place(hash ^ value) * 0x9e3779b97f4a7c15ULL + 1; };
  const auto add_weight = [&add](double weight) {
    std::uint64_t bits;
    std::memcpy(&bits, &weight, sizeof bits);
    add(bits);
  };
  add(plan.piece_elements);
  add(plan.channels);
  add(plan.servers);
  add(plan.fanout);
  for (const PlanLevel& level : plan.levels) add(level.size | static_cast<std::uint64_t>(level.way) << 32);
  for (const Ring& ring : plan.rings) {
    add_weight(ring.weight);
    for (const std::uint32_t rank : ring.order) add(rank);
  }
  for (const Tree& tree : plan.trees) {
    add_weight(tree.weight);
    for (const std::int32_t parent : tree.parent) add(static_cast<std::uint32_t>(parent));
  }
  return std::max<std::uint64_t>(hash, 1);
}

namespace {

// Whether its caller's counts, which all ranks give alike, are others than they would be without.
bool has_own_parts(const Call& call, std::uint32_t ranks) {
  if (call.parts.empty() || call.operation == Operation::kAllToAll) return false;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (call.parts[rank] != part_of({0, call.count}, ranks, rank).begin) return true;
  }
  return false;
}

std::uint64_t with_parts(std::uint64_t hash, const std::vector<std::uint64_t>& parts) {
  for (const std::uint64_t begin : parts) hash = place(hash ^ begin) * 0x9e3779b97f4a7c15ULL + 1;
  return hash;
}

}  // namespace

Preface preface_of(Operation asked, const Call& call, const Plan& plan, const Numbering& numbering) {
  const Arithmetic& arithmetic = call.arithmetic;
  constexpr std::uint64_t kMost16 = std::numeric_limits<std::uint16_t>::max();
  constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
  Preface preface;
  preface.operation = asked;
  const bool own = arithmetic.monoid.combine != nullptr;
  preface.type = own ? 0 : static_cast<std::uint8_t>(arithmetic.type);
  preface.reduction = !own                            ? static_cast<std::uint8_t>(arithmetic.reduction)
                      : arithmetic.monoid.commutative ? Preface::kMonoid
                                                      : Preface::kOrderedMonoid;
  preface.element_bytes = static_cast<std::uint32_t>(arithmetic.element_bytes);
  preface.route = plan.route->id;
  preface.piece = static_cast<std::uint32_t>(std::min<std::uint64_t>(plan.piece_elements, kMost32));
  preface.channels = static_cast<std::uint16_t>(plan.channels);
  std::uint64_t number = plan.route->number.where ? plan.*plan.route->number.where : 0;
  if (plan.route->shape == RouteShape::kByRings) number = plan.rings.size();
  preface.number = static_cast<std::uint16_t>(std::min(number, kMost16));
  preface.root = call.root;
  preface.count = call.operation == Operation::kAllToAll ? 0 : call.count;
  preface.sequence = numbering.sequence;
  preface.ranks = numbering.ranks;
  preface.group = numbering.group;
  if (call.phantom) return preface;
  preface.plan_hash = plan.hash != 0 ? plan.hash : hash_of(plan);
  if (has_own_parts(call, numbering.ranks)) preface.plan_hash = with_parts(preface.plan_hash, call.parts);
  return preface;
}

namespace {

bool reduces(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduce ||
         operation == Operation::kReduceScatter;
}

}  // namespace

std::string describe(const Preface& preface, const Route* own) {
  std::string text = static_cast<std::size_t>(preface.operation) < kOperations
                         ? operation_name(preface.operation)
                         : "operation " + std::to_string(static_cast<int>(preface.operation));
  text += " #" + std::to_string(preface.sequence) + " of ";
  if (preface.operation != Operation::kAllToAll) text += std::to_string(preface.count) + " ";
  if (preface.reduction == Preface::kMonoid || preface.reduction == Preface::kOrderedMonoid) {
    text += std::to_string(preface.element_bytes) + "-byte elements";
    if (preface.reduction == Preface::kOrderedMonoid) text += " in rank order";
  } else if (preface.type < kDataTypes && preface.reduction < kReductions) {
    text += data_type_name(static_cast<DataType>(preface.type));
    if (reduces(preface.operation))
      text += std::string(" (") + reduction_name(static_cast<Reduction>(preface.reduction)) + ")";
  }
  Plan plan;
  plan.route = own && own->id == preface.route ? own : find_route(preface.route);
  if (plan.route && plan.route->number.where) plan.*plan.route->number.where = preface.number;
  text += " by " + (plan.route ? plan.name() : "a route of the application's own");
  if (has_root(preface.operation)) text += ", root " + std::to_string(preface.root);
  return text;
}

namespace {

std::string described_in_full(const Preface& preface) {
  std::string text = describe(preface);
  text += preface.piece == 0 ? ", in whole blocks"
                             : ", in pieces of " + std::to_string(preface.piece) + " elements";
  text += ", on " + std::to_string(preface.channels) + " channels";
  text += ", of " + std::to_string(preface.element_bytes) + " bytes each";
  return text + ", among " + std::to_string(preface.ranks) + " ranks";
}

// What is wrong with the size of a part that `from` sends `to`; OK where they differ in more than that.
Status check_part(const PrefaceOf& to, const PrefaceOf& from) {
  if (to.preface.operation != Operation::kAllToAll || to.preface.count == from.preface.count) return {};
  Preface resized = from.preface;
  resized.count = to.preface.count;
  if (resized != to.preface) return {};
  return {Code::kRefused, "rank " + std::to_string(from.rank) + " sends rank " + std::to_string(to.rank) +
                              " " + std::to_string(from.preface.count) + " elements of " +
                              describe(to.preface) + ", which expects " + std::to_string(to.preface.count)};
}

bool is_known(const Preface& preface) {
  return preface.magic == Preface::kMagic && preface.version == Preface{}.version;
}

}  // namespace

Status check_prefaces(const PrefaceOf& one, const PrefaceOf& other) {
  if (one.preface == other.preface) return ok_status();
  if (Status status = check_part(one, other); !status.ok()) return status;
  const auto& [first, second] =
      std::minmax(one, other, [](const PrefaceOf& a, const PrefaceOf& b) { return a.rank < b.rank; });
  for (const PrefaceOf* each : {&first, &second}) {
    if (is_known(each->preface)) continue;
    return {Code::kRefused, "rank " + std::to_string(each->rank) +
                                " sends something that is no operation of this version of Thalweg; start all "
                                "ranks from the same build"};
  }
  std::string first_calls = describe(first.preface), second_calls = describe(second.preface);
  if (first_calls == second_calls) {
    first_calls = described_in_full(first.preface);
    second_calls = described_in_full(second.preface);
  }
  if (first_calls == second_calls)
    second_calls =
        "the same with other counts, rings, trees or levels, by another route of its own, or in another "
        "group";
  return {Code::kRefused, "the ranks of a group must call the same operations in the same order: rank " +
                              std::to_string(first.rank) + " calls " + first_calls + ", rank " +
                              std::to_string(second.rank) + " calls " + second_calls};
}

}  // namespace thalweg
