// What a table, an update rule and a consistency mode are, as plain values.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "thalweg/rule_kinds.h"

namespace thalweg {

// Which formula the owner of a row applies to a contribution; docs/optimizers.md has formulas and sources.
enum class RuleKind : std::uint8_t {
#define THALWEG_RULE_KIND(kind, name, type, l1) kind,
  THALWEG_RULES(THALWEG_RULE_KIND)
#undef THALWEG_RULE_KIND
      kCustom
};

struct RuleSpec {
  RuleKind kind = RuleKind::kAdd;
  float rate = 0.1f;  // Learning rate (FTRL: alpha).
  float l1 = 0.0f;    // FTRL; proximal step for SGD and Adagrad.
  float l2 =
      0.0f;  // Weight decay: added to the gradient, except AdamW (decoupled) and FTRL (in the closed form).
  float momentum = 0.9f;             // Momentum, Nesterov.
  float beta1 = 0.9f;                // Adam, AdamW.
  float beta2 = 0.999f;              // Adam, AdamW; RMSProp: decay of the mean square.
  float epsilon = 1e-8f;             // Added to a denominator. FTRL: beta.
  float initial_accumulator = 0.0f;  // Adagrad.
  std::string custom;                // Name of a registered rule when kind is kCustom.
  bool operator==(const RuleSpec&) const = default;
};

// The value of a row before its first update: a pure function of (key, column, seed).
struct InitSpec {
  enum class Kind : std::uint8_t { kZero, kUniform, kNormal, kConstant } kind = Kind::kZero;
  float scale = 0.0f;  // Uniform: in [-scale, scale). Normal: standard deviation. Constant: the value.
  std::uint64_t seed = 0;
  bool operator==(const InitSpec&) const = default;
};

struct TableSpec {
  enum class Kind : std::uint8_t { kSparse, kDense } kind = Kind::kSparse;
  std::string name;
  std::uint32_t dim = 1;       // Floats in a row.
  std::uint64_t rows = 0;      // Dense: number of rows. Sparse: 0, it grows on demand.
  std::uint16_t ranges = 256;  // Key ranges; the unit of placement. Fixed for a table's life.
  RuleSpec rule;
  InitSpec init;
  bool operator==(const TableSpec&) const = default;
};

// When a push counts and when a pull may return.
struct Consistency {
  enum class Kind : std::uint8_t {
    kSync,
    kBounded,
    kAsync,
    kSoftsync,
    kBackup,
    kFreeSoftsync,
    kMaxWait
  } kind = Kind::kSync;
  std::uint32_t bound = 0;  // Steps that a data shard may lead the slowest one. Softsync: n. Backup: k.
                            // Max-wait: its time in kWaitUnit (thalweg/wait_limit.h).
  static constexpr Consistency sync() { return {}; }
  // A bound of 0 is lockstep, so sync(): who leads nobody reads all of each step before, and nothing else.
  static constexpr Consistency bounded(std::uint32_t steps) {
    return steps == 0 ? sync() : Consistency{Kind::kBounded, steps};
  }
  static constexpr Consistency async() { return {Kind::kAsync, std::numeric_limits<std::uint32_t>::max()}; }
  // floor(shards / n) pushes from any shards are one update. Precondition: n > 0.
  static constexpr Consistency softsync(std::uint32_t n) { return {Kind::kSoftsync, n}; }
  // The same, and a pull waits for nothing, not even for what its own shard has pushed.
  static constexpr Consistency free_softsync(std::uint32_t n) { return {Kind::kFreeSoftsync, n}; }
  // A step is closed when all shards but `late` have pushed to it; what comes then is dropped.
  static constexpr Consistency backup(std::uint32_t late) { return {Kind::kBackup, late}; }
  // Whether what comes after a step has closed is in no step.
  constexpr bool drops_late() const { return kind == Kind::kBackup || kind == Kind::kMaxWait; }
  constexpr bool counts_pushes() const { return kind == Kind::kSoftsync || kind == Kind::kFreeSoftsync; }
  bool operator==(const Consistency&) const = default;
};

// Where pushes are added up before they reach a server. In sync mode no bit of the model depends on it.
struct Combining {
  enum class Kind : std::uint8_t { kNone, kMachine, kTree, kTreeBothWays } kind = Kind::kNone;
  std::uint32_t arity = 0;  // Tree: how many workers send to one.
  static constexpr Combining none() { return {}; }
  // One worker of each machine sends for all of the machine's.
  static constexpr Combining machine() { return {Kind::kMachine, 0}; }
  // Worker i sends to worker (i - 1) / arity, and worker 0 for all. Precondition: arity > 0.
  static constexpr Combining tree(std::uint32_t arity) { return {Kind::kTree, arity}; }
  // The newest rows of dense tables come down it too. Of free_softsync() alone.
  static constexpr Combining tree_both_ways(std::uint32_t arity) { return {Kind::kTreeBothWays, arity}; }
  constexpr bool is_tree() const { return kind == Kind::kTree || kind == Kind::kTreeBothWays; }
  bool operator==(const Combining&) const = default;
};

}  // namespace thalweg
