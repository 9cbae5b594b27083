// The words of the system as types, so that an index, a count and a name never mix.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace thalweg {

// A parameter's name. Any value but 2^64-1, which is reserved.
using Key = std::uint64_t;
inline constexpr Key kReservedKey = ~Key{0};

template <class Tag, class Value = std::uint32_t>
struct Id {
  Value value{};
  constexpr Id() = default;
  constexpr explicit Id(Value v) : value(v) {}
  constexpr auto operator<=>(const Id&) const = default;
};

using TableId = Id<struct TableTag, std::uint16_t>;
using RangeId = Id<struct RangeTag, std::uint16_t>;  // One of a table's fixed key ranges.
using ShardId = Id<struct ShardTag>;                 // A logical part of the training data.

enum class Role : std::uint8_t { kScheduler = 0, kServer = 1, kWorker = 2 };

// One participant: its role and its number within the role.
struct NodeId {
  Role role{Role::kScheduler};
  std::uint32_t index{0};
  constexpr auto operator<=>(const NodeId&) const = default;
};
inline constexpr NodeId kScheduler{};
constexpr NodeId server_node(std::uint32_t index) { return {Role::kServer, index}; }
constexpr NodeId worker_node(std::uint32_t index) { return {Role::kWorker, index}; }

// A place in a data shard's work: the index-th step of an epoch. Ordered epoch first.
struct Step {
  std::uint32_t epoch{0};
  std::uint32_t index{0};
  constexpr auto operator<=>(const Step&) const = default;
  constexpr Step next() const { return {epoch, index + 1}; }
  constexpr Step next_epoch() const { return {epoch + 1, 0}; }
};
// After every other step: where a data shard stands that has ended its work.
inline constexpr Step kEndOfWork{~0u, 0};

// Numbers of the caller's choice for a meeting of all data shards.
struct BarrierId {
  std::uint32_t epoch{0};
  std::uint32_t index{0};
  constexpr auto operator<=>(const BarrierId&) const = default;
};
// The last of a job, which holds shards even when the job has been asked to end early.
inline constexpr BarrierId kLastBarrier{~0u, 0};
// Opens once the job's observer comes to it, which may have loaded rows by then.
inline constexpr BarrierId kLoadedBarrier{~0u, 1};

// Numbers of the caller's choice for a shard's report, ordered epoch first.
struct ReportId {
  std::uint32_t epoch{0};
  std::uint32_t index{0};
  constexpr auto operator<=>(const ReportId&) const = default;
};

}  // namespace thalweg

template <class Tag, class Value>
struct std::hash<thalweg::Id<Tag, Value>> {
  std::size_t operator()(thalweg::Id<Tag, Value> id) const noexcept { return std::hash<Value>{}(id.value); }
};
