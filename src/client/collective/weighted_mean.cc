// The mean of all ranks' items, of which each gives the mean of `weight`: a sum of weighted vectors, divided
// by the sum of weights, which travels by itself as a double so that all ranks divide by the same number.
#include <cmath>
#include <cstring>

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

}  // namespace

Status Group::weighted_mean(const void* in, void* out, std::size_t count, DataType type, double weight,
                            RouteChoice route) {
  if (!(weight >= 0) || std::isinf(weight)) {
    return {Code::kUsage, "weighted mean: a weight is negative or not finite"};
  }
  if (type != DataType::kF32 && type != DataType::kF64) {
    return {Code::kUsage, "weighted mean: expected elements of type float or double"};
  }
  GroupCall call;
  call.in = in;
  call.out = out;
  call.count = count;
  call.type = type;
  call.route = std::move(route);
  if (Status status = check_overlap(call, rank(), {size_bytes(type), {}, count, count}); !status.ok())
    return status;
  double sum = weight;
  if (Status status = all_reduce<double>(std::span<double>(&sum, 1)); !status.ok()) return status;
  if (!(sum > 0)) return {Code::kUsage, "weighted mean: no rank has a weight above 0"};
  scale(out, in, count, type, weight);
  call.in = out;
  Status status = run(call);
  if (status.ok()) scale(out, out, count, type, 1 / sum);
  return status;
}

}  // namespace thalweg
