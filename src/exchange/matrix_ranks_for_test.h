// All ranks of a group in one thread, which run the matrix's cases over any transport.
#pragma once

#include <functional>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exchange/combine/reproducible.h"
#include "exchange/exchange_matrix_for_test.h"

namespace thalweg {

class MatrixRanks {
 public:
  using Exchanges = std::span<const std::unique_ptr<Exchange>>;
  // Runs one exchange a rank until all are done.
  using Drive = std::function<Status(Exchanges)>;
  // Where a rank's buffers for the route kShared are to be.
  using Memory = std::function<std::pmr::memory_resource*(std::uint32_t rank)>;

  MatrixRanks(std::uint32_t ranks, Drive drive, Memory memory = {})
      : ranks_(ranks), drive_(std::move(drive)), memory_(std::move(memory)) {}

  // Empty, or what is wrong.
  std::string run(const MatrixCase& c) {
    std::vector<CaseBuffers> buffers;
    buffers.reserve(ranks_);
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const bool shares = memory_ && c.plan.route == &routes::kShared;
      buffers.emplace_back(c.what, rank, shares ? memory_(rank) : std::pmr::get_default_resource());
    }
    const bool staged = c.what.reduction == Reduction::kReproducibleSum;
    const Status status = staged ? run_in_stages(c, buffers) : run_once(c, buffers);
    if (!status.ok()) return status.message();
    for (const CaseBuffers& one : buffers) {
      if (std::string wrong = one.check(); !wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  Status run_once(const MatrixCase& c, std::vector<CaseBuffers>& buffers) {
    std::vector<Call> calls(ranks_, call_of(c));
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      calls[rank].in = buffers[rank].in();
      calls[rank].out = buffers[rank].out();
    }
    return drive(c, std::move(calls));
  }
  // As reproducible.h puts it: exponents, then integers.
  Status run_in_stages(const MatrixCase& c, std::vector<CaseBuffers>& buffers) {
    const DataType type = c.what.type;
    const std::size_t exponent = reproducible::exponent_bytes(type);
    const std::size_t each = reproducible::integers_per_element(type);
    std::vector<std::vector<std::byte>> exponents(ranks_);
    std::vector<std::vector<std::int64_t>> integers(ranks_);
    Call call = call_of(c);
    call.operation = Operation::kAllReduce;
    call.arithmetic = Arithmetic::of(reproducible::exponents_monoid(type));
    std::vector<Call> calls(ranks_, call);
    for (std::uint32_t rank = 0; rank < c.what.workers(); ++rank) {
      exponents[rank].resize(c.what.count * exponent);
      const std::byte* const in = buffers[rank].in();
      reproducible::encode_exponents(type, {&in, 1}, c.what.count, exponents[rank].data());
      calls[rank].in = calls[rank].out = exponents[rank].data();
    }
    MatrixCase first = c;
    if (c.what.operation != Operation::kAllReduce) first.plan.route = &routes::kRecursiveDoubling;
    if (Status status = drive(first, std::move(calls)); !status.ok()) return status;

    call = call_of(c);
    call.arithmetic = Arithmetic::of(DataType::kI64, Reduction::kSum);
    call.count = c.what.count * each;
    for (std::uint32_t r = 0; r <= ranks_ && c.what.operation == Operation::kReduceScatter; ++r) {
      call.parts.push_back(each * (r == ranks_ ? c.what.count : c.what.part(r).begin));
    }
    calls.assign(ranks_, call);
    for (std::uint32_t rank = 0; rank < c.what.workers(); ++rank) {
      integers[rank].resize(call.count);
      const std::byte* const in = buffers[rank].in();
      reproducible::encode_integers(type, {&in, 1}, c.what.count, exponents[rank].data(),
                                    integers[rank].data());
      const auto bytes = std::as_writable_bytes(std::span(integers[rank]));
      calls[rank].in = calls[rank].out = bytes.data();
      if (!call.parts.empty()) calls[rank].out += call.parts[rank] * sizeof(std::int64_t);
    }
    if (Status status = drive(c, std::move(calls)); !status.ok()) return status;
    for (std::uint32_t rank = 0; rank < c.what.workers(); ++rank) {
      Block wanted{0, c.what.count};
      if (!call.parts.empty()) wanted = c.what.part(rank);
      if (!buffers[rank].out()) continue;
      reproducible::decode(type, exponents[rank].data() + wanted.begin * exponent,
                           integers[rank].data() + wanted.begin * each, wanted.count, buffers[rank].out());
    }
    return {};
  }
  static Call call_of(const MatrixCase& c) {
    Call call;
    call.operation = c.what.operation;
    if (c.what.reduction != Reduction::kReproducibleSum) call.arithmetic = c.what.arithmetic();
    call.count = c.what.count;
    call.root = c.what.root;
    call.peer = c.what.peer();
    return call;
  }
  Status drive(const MatrixCase& c, std::vector<Call> calls) {
    Plan plan = c.plan;
    if (c.piece_bytes > 0) plan.piece_elements = c.piece_bytes / calls[0].arithmetic.element_bytes;
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      exchanges.push_back(std::make_unique<Exchange>(std::move(calls[rank]), plan, rank, ranks_, sequence_));
    }
    ++sequence_;
    return drive_(exchanges);
  }

  const std::uint32_t ranks_;
  const Drive drive_;
  const Memory memory_;
  std::uint64_t sequence_ = 0;
};

}  // namespace thalweg
