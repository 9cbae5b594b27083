#include "group_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <utility>

#include "errors.h"

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

// Elements that `out` must have for `in`, where that is said by the operation; and those of the whole vector.
struct Sizes {
  std::optional<std::size_t> out;
  std::size_t whole = 0;
};

Sizes sizes_of(const Group& group, const GroupCall& call, std::size_t in, std::size_t out) {
  const bool is_root = group.rank() == call.root;
  switch (call.operation) {
    case Operation::kAllReduce:
    case Operation::kBroadcast:
      return {in, in};
    case Operation::kReduce:
      return {is_root ? std::optional(in) : std::nullopt, in};
    case Operation::kReduceScatter:
      return {group.own_part(in).count, in};
    case Operation::kAllGather:
      return {std::nullopt, out};
    case Operation::kGather:
      return {is_root ? std::optional(in * group.size()) : std::nullopt, in * group.size()};
    case Operation::kScatter:
      return {is_root ? std::optional(in / group.size()) : std::nullopt, out * group.size()};
    case Operation::kAllToAll:
      return {call.counts.empty() ? std::optional(in) : std::nullopt, in};
    case Operation::kBarrier:
      return {std::nullopt, 0};
    case Operation::kPointToPoint:
      return {std::nullopt, std::max(in, out)};
    case Operation::kNeighbours:
      return {in * call.neighbours.size(), in};
  }
  return {};
}

void take_arrays(const Group& group, HeldCall& held) {
  GroupCall& call = held.call;
  if (held.in) check_contiguous(*held.in), call.in = held.in->data(), call.type = element_type(*held.in);
  if (held.out) check_contiguous(*held.out), call.out = held.out->data(), call.type = element_type(*held.out);
  if (held.in && held.out && held.in->dtype() != held.out->dtype()) {
    raise({Code::kUsage, "the arrays of a call: expected elements of one type"});
  }
  const std::size_t in = held.in ? held.in->size() : 0, out = held.out ? held.out->size() : 0;
  if (call.operation == Operation::kScatter && group.rank() == call.root && in % group.size() != 0) {
    raise({Code::kUsage,
           fmt::format("{} elements to scatter, expected as many for each of {} ranks", in, group.size())});
  }
  const Sizes sizes = sizes_of(group, call, in, out);
  call.count = sizes.whole;
  if (sizes.out && held.out && out != *sizes.out) {
    raise({Code::kUsage, fmt::format("{} elements for the result, expected {}", out, *sizes.out)});
  }
  const bool own_part = call.operation == Operation::kAllGather && call.counts.empty();
  if (own_part && in != group.own_part(out).count) {
    raise({Code::kUsage, fmt::format("{} elements to gather, expected this rank's part, {}", in,
                                     group.own_part(out).count)});
  }
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
  call.timeout = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(held->words.timeout));
  if (!held->words.route.empty()) {
    call.route =
        value_of(RouteChoice::named(held->words.route, {held->words.piece_bytes, held->words.channels}));
  }
  take_arrays(group, *held);
  return held;
}

}  // namespace thalweg::python
