#include "group_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "errors.h"
#include "seconds.h"

namespace nb = nanobind;

namespace thalweg::python {
namespace {

// In the order of Operation.
constexpr const char* kOperationNames[] = {"all_reduce", "reduce",         "reduce_scatter", "all_gather",
                                           "broadcast",  "gather",         "scatter",        "all_to_all",
                                           "barrier",    "point_to_point", "exchange_with"};
static_assert(std::size(kOperationNames) == kOperations);

Operation operation_named(const std::string& name) {
  const auto found = std::find(std::begin(kOperationNames), std::end(kOperationNames), name);
  if (found == std::end(kOperationNames))
    raise({Code::kUsage, fmt::format("no operation is named '{}'", name)});
  return static_cast<Operation>(found - std::begin(kOperationNames));
}

Reduction reduction_of(const std::string& name) {
  std::string names;
  for (std::size_t i = 0; i < kReductions; ++i) {
    const auto reduction = static_cast<Reduction>(i);
    if (name == reduction_name(reduction)) return reduction;
    names += (i == 0 ? "" : ", ") + std::string(reduction_name(reduction));
  }
  raise({Code::kUsage, fmt::format("reduction '{}'; expected one of {}", name, names)});
}

template <class Array>
DataType element_type(const Array& array) {
  using Code8 = nb::dlpack::dtype_code;
  const nb::dlpack::dtype type = array.dtype();
  const auto is = [&](Code8 code, int bits) {
    return type.code == static_cast<std::uint8_t>(code) && type.bits == bits;
  };
  if (is(Code8::Float, 32)) return DataType::kF32;
  if (is(Code8::Float, 64)) return DataType::kF64;
  if (is(Code8::Float, 16)) return DataType::kF16;
  if (is(Code8::Bfloat, 16)) return DataType::kBf16;
  if (is(Code8::Int, 32)) return DataType::kI32;
  if (is(Code8::Int, 64)) return DataType::kI64;
  if (is(Code8::UInt, 64)) return DataType::kU64;
  raise({Code::kUsage, "elements: expected float16, bfloat16, float32, float64, int32, int64 or uint64"});
}

template <class Array>
void check_contiguous(const Array& array) {
  if (array.size() == 0) return;
  std::int64_t expected = 1;
  for (std::size_t d = array.ndim(); d-- > 0;) {
    if (array.shape(d) != 1 && array.stride(d) != expected) {
      raise({Code::kUsage, "an array whose elements do not lie one behind the other"});
    }
    expected *= static_cast<std::int64_t>(array.shape(d));
  }
}

std::size_t sum_of(const std::vector<std::size_t>& counts) {
  std::size_t sum = 0;
  for (const std::size_t count : counts) {
    if (__builtin_add_overflow(sum, count, &sum)) raise({Code::kUsage, "counts add up to too much"});
  }
  return sum;
}

// Elements of a call's whole vector, and those that its arrays must have where these do not say it.
struct Sizes {
  std::size_t whole = 0;
  std::optional<std::size_t> in, out;
};

// `in`, `out`: what the arrays have. Of `counts` there is one for each rank, or none.
Sizes sizes_of(const Group& group, const CallWords& words, Operation operation, std::size_t in,
               std::size_t out) {
  const bool is_root = group.rank() == words.root, counted = !words.counts.empty();
  const auto own = [&](std::size_t whole) {
    return counted ? words.counts[group.rank()] : group.own_part(whole).count;
  };
  const auto at_root = [&](std::size_t size) { return is_root ? std::optional(size) : std::nullopt; };
  const auto all_of = [&](std::size_t part) { return counted ? sum_of(words.counts) : part * group.size(); };
  switch (operation) {
    case Operation::kAllReduce:
    case Operation::kBroadcast:
      return {in, {}, in};
    case Operation::kReduce:
      return {in, {}, at_root(in)};
    case Operation::kReduceScatter:
      return {in, {}, own(in)};
    case Operation::kAllGather:
      return {out, own(out), {}};
    case Operation::kGather:
      return {all_of(in), own(all_of(in)), at_root(all_of(in))};
    case Operation::kScatter:
      return {all_of(out), at_root(all_of(out)), own(all_of(out))};
    case Operation::kAllToAll:
      return {in, {}, words.counts_out.empty() ? in : sum_of(words.counts_out)};
    case Operation::kBarrier:
      return {};
    case Operation::kPointToPoint:
      return {std::max(in, out), {}, {}};
    case Operation::kNeighbours:
      return {in, {}, in * words.neighbours.size()};
  }
  return {};
}

// Which arrays a call must have at this rank.
void check_given(const Group& group, const HeldCall& held) {
  const Operation operation = held.call.operation;
  const bool is_root = group.rank() == held.call.root;
  bool in = operation != Operation::kBarrier, out = in;
  if (operation == Operation::kReduce || operation == Operation::kGather) out = is_root;
  if (operation == Operation::kScatter) in = is_root;
  if (operation == Operation::kPointToPoint) in = is_root, out = !is_root && group.rank() == held.call.peer;
  if (operation == Operation::kNeighbours) in = out = !held.words.neighbours.empty();
  if (in && !held.in) raise({Code::kUsage, "data: None; expected an array"});
  if (out && !held.out) raise({Code::kUsage, "out: None; expected an array for the result"});
}

void take_arrays(const Group& group, HeldCall& held) {
  GroupCall& call = held.call;
  check_given(group, held);
  const bool to_root = call.operation == Operation::kReduce || call.operation == Operation::kGather;
  if (to_root && group.rank() != call.root) held.out.reset();  // It would be written to on the way.
  if (held.in) check_contiguous(*held.in), call.in = held.in->data(), call.type = element_type(*held.in);
  if (held.out) check_contiguous(*held.out), call.out = held.out->data(), call.type = element_type(*held.out);
  if (held.in && held.out && held.in->dtype() != held.out->dtype()) {
    raise({Code::kUsage, "the arrays of a call: expected elements of one type"});
  }
  for (const auto* counts : {&held.words.counts, &held.words.counts_out}) {
    if (counts->empty() || counts->size() == group.size()) continue;
    raise({Code::kUsage,
           fmt::format("{} counts; expected one for each of {} ranks", counts->size(), group.size())});
  }
  const std::size_t in = held.in ? held.in->size() : 0, out = held.out ? held.out->size() : 0;
  const bool is_root = group.rank() == call.root;
  if (call.operation == Operation::kScatter && is_root && call.counts.empty() && in % group.size() != 0) {
    raise({Code::kUsage,
           fmt::format("{} elements to scatter, expected as many for each of {} ranks", in, group.size())});
  }
  const Sizes sizes = sizes_of(group, held.words, call.operation, in, out);
  call.count = sizes.whole;
  if (sizes.in && in != *sizes.in)
    raise({Code::kUsage, fmt::format("{} elements of data, expected {}", in, *sizes.in)});
  if (sizes.out && out != *sizes.out)
    raise({Code::kUsage, fmt::format("{} elements for the result, expected {}", out, *sizes.out)});
}

}  // namespace

std::unique_ptr<HeldCall> held_call(const Group& group, const std::string& operation,
                                    std::optional<InArray> in, std::optional<OutArray> out, CallWords words) {
  auto held = std::make_unique<HeldCall>();
  held->words = std::move(words);
  held->in = std::move(in);
  held->out = std::move(out);
  GroupCall& call = held->call;
  call.operation = operation_named(operation);
  call.combine = reduction_of(held->words.reduction);
  call.root = held->words.root;
  call.peer = held->words.peer;
  call.counts = held->words.counts;
  call.counts_out = held->words.counts_out;
  call.neighbours = held->words.neighbours;
  call.timeout = nanoseconds_of(held->words.timeout);
  if (held->words.route.empty() && (held->words.piece_bytes != 0 || held->words.channels != 1)) {
    raise({Code::kUsage, "piece_bytes and channels tune a route; expected route= as well"});
  }
  if (!held->words.route.empty()) {
    call.route =
        value_of(RouteChoice::named(held->words.route, {held->words.piece_bytes, held->words.channels}));
  }
  take_arrays(group, *held);
  return held;
}

}  // namespace thalweg::python
