// What the transports and cores of one machine take, by which the ranks of a group choose routes.
#pragma once

namespace thalweg {

// A core copies in and out by turns, so that both directions share its rate; ranks that share a core take
// turns at all of it.
struct TransportCosts {
  double bytes_per_second = 0;
  double latency_seconds = 0;  // On the way and to wake up.
  double message_seconds = 0;  // To begin or end one message.
  bool operator==(const TransportCosts&) const = default;
};

// Unless measured, those of two cores at 2.7 GHz: bench/tcp_exchange_bench RANKS
// 4096,32768,131072,524288,4194304 ROUTE --piece P --transport T, for 2, 3, 4 and 8 ranks (docs/adr/0022).
struct MachineCosts {
  TransportCosts shared_memory{20e9, 250e-9, 0.25e-6};
  TransportCosts loopback{10e9, 1800e-9, 1.6e-6};
  double add_seconds_per_byte = 0.07e-9;    // Of one vector that is added to another.
  double fetch_seconds_per_byte = 0.07e-9;  // More, of one that has left the cache.
  double cache_bytes = 2 << 20;             // Of a core's own.
  bool operator==(const MachineCosts&) const = default;
};

// Which of them may be, so that formulas stay finite.
constexpr bool is_bytes_per_second(double value) { return value >= 1e3 && value <= 1e15; }
constexpr bool is_cost_seconds(double value) { return value >= 0 && value <= 10; }
constexpr bool is_cache_bytes(double value) { return value >= 0 && value <= 1e12; }

// Calls each(table, key, value, is_valid) with every number of `costs`, which may be const.
template <class Costs, class Each>
void each_cost(Costs& costs, const Each& each) {
  const auto transport = [&each](const char* table, auto& of) {
    each(table, "bytes_per_second", of.bytes_per_second, is_bytes_per_second);
    each(table, "latency_seconds", of.latency_seconds, is_cost_seconds);
    each(table, "message_seconds", of.message_seconds, is_cost_seconds);
  };
  transport("shared_memory", costs.shared_memory);
  transport("loopback", costs.loopback);
  each("core", "add_seconds_per_byte", costs.add_seconds_per_byte, is_cost_seconds);
  each("core", "fetch_seconds_per_byte", costs.fetch_seconds_per_byte, is_cost_seconds);
  each("core", "cache_bytes", costs.cache_bytes, is_cache_bytes);
}

}  // namespace thalweg
