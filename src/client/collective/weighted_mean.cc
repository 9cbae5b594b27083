// The mean of all ranks' items, of which each gives the mean of `weight`: a sum of weighted vectors, divided
// by the sum of weights, which travels by itself as a double so that all ranks divide by the same number.
// Both are scaled by the power of two that brings this sum to [0.5, 1): no element overflows, and bits stay
// the same.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "client/group/group_call.h"
#include "client/group/group_impl.h"

namespace thalweg {
namespace {

template <class T>
void scale(T* out, const T* in, std::size_t count, double factor) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<T>(static_cast<double>(in[i]) * factor);
}

void scale(void* out, const void* in, std::size_t count, DataType type, double factor) {
  if (type == DataType::kF32) scale(static_cast<float*>(out), static_cast<const float*>(in), count, factor);
  if (type == DataType::kF64) scale(static_cast<double*>(out), static_cast<const double*>(in), count, factor);
}

Task<Status> mean_in_steps(GroupSteps& steps, GroupCall call, double weight) {
  // What is no weight is told to all ranks as NaN, for else their next mean would match this one.
  const bool is_weight = weight >= 0 && !std::isinf(weight);
  double sum = is_weight ? weight : std::numeric_limits<double>::quiet_NaN();
  const GroupCall weights = Group::typed<double>(Operation::kAllReduce, &sum, &sum, 1);
  if (Status status = co_await steps.take(weights); !status.ok()) co_return status;
  if (!is_weight) {
    co_return Status(
        Code::kUsage,
        fmt::format("weighted mean: this rank's weight is {}; expected a finite one of at least 0", weight));
  }
  if (std::isnan(sum)) {
    co_return Status(Code::kUsage, "weighted mean: another rank's weight is negative or not finite");
  }
  if (!(sum > 0)) co_return Status(Code::kUsage, "weighted mean: no rank has a weight above 0");
  if (std::isinf(sum))
    co_return Status(Code::kUsage, "weighted mean: the sum of all ranks' weights overflows");
  int exponent = 0;
  const double scaled_sum = std::frexp(sum, &exponent);
  scale(call.out, call.in, call.count, call.type, std::ldexp(weight, -exponent));
  call.in = call.out;
  Status status = co_await steps.take(call);
  if (status.ok()) scale(call.out, call.out, call.count, call.type, 1 / scaled_sum);
  co_return status;
}

Status check_weighted_mean(const Group& group, const GroupCall& call) {
  if (call.type != DataType::kF32 && call.type != DataType::kF64) {
    return {Code::kUsage, "weighted mean: expected elements of type float or double"};
  }
  if (Status status = check_all_contribute("weighted mean", call.route); !status.ok()) return status;
  if (Status status = check_call(call, group.rank(), group.size()); !status.ok()) return status;
  return check_overlap(call, group.rank(), {size_bytes(call.type), {}, call.count, call.count});
}

}  // namespace

Status Group::weighted_mean(const GroupCall& call, double weight) {
  if (Status status = check_weighted_mean(*this, call); !status.ok()) return status;
  return run_in_steps(*this, [&](GroupSteps& steps) { return mean_in_steps(steps, call, weight); });
}

GroupWork Group::weighted_mean_async(const GroupCall& call, double weight) {
  if (Status status = check_weighted_mean(*this, call); !status.ok()) return failed(std::move(status));
  return impl_->start([&](GroupSteps& steps) { return mean_in_steps(steps, call, weight); }, call.route);
}

}  // namespace thalweg
