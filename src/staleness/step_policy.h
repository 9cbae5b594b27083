// When data shards may read, and when what they push goes into the rows: one policy, in a file of its own,
// for each consistency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/instant.h"
#include "staleness/clocks.h"
#include "thalweg/options.h"

namespace thalweg {

class StepPolicy {
 public:
  virtual ~StepPolicy() = default;
  // Whether others that are about to work on `wanted` may read while a shard has come as far as `clock`.
  virtual bool lets_read(Step clock, Step wanted) const = 0;
  // Whether a reader waits for what its own shard has pushed.
  virtual bool waits_for_own() const { return true; }
  // How far those have come whom readers wait for.
  virtual Step awaited(const Clocks& clocks) const { return clocks.slowest(); }
  // What is pushed to steps before this one goes into the rows, step by step, each as one update; what is
  // pushed to later ones is kept until then. Never goes back while clocks do not.
  virtual Step closed(const Clocks& clocks) const = 0;
  // Whether what is pushed is kept until its step closes, by how far shards have come.
  virtual bool keeps_steps() const { return true; }
  // How long a step stays open behind its first push, while its epoch goes on for whoever has pushed; 0:
  // until closed() says so.
  virtual Duration waits_at_most() const { return {}; }
  // Whether a push to `step` may come yet: what is kept must have a bound.
  virtual bool takes(const Clocks& clocks, Step step) const = 0;
  // Whether one push may be the sum of several shards'.
  virtual bool combines() const = 0;
  // Whether a push to a step that is closed is dropped, instead of being an update of its own.
  virtual bool drops_late() const { return false; }
  // How many pushes to a range, of any shards, are one update of it; 0: updates are by step, as closed()
  // says, else that ends what is not a whole update.
  virtual std::uint32_t pushes_an_update(std::uint32_t /*shards*/) const { return 0; }
  // In how many of its last steps a shard that reads again is given what it was given before.
  virtual std::size_t steps_replayed() const = 0;
};

// Sync: all of a step's pushes are one update, in the order of their shards, and are read in the next step.
std::unique_ptr<const StepPolicy> lockstep();
// A push is applied as it comes; nobody reads more than `bound` steps ahead of the slowest. Ho et al., "More
// Effective Distributed ML via a Stale Synchronous Parallel Parameter Server", NIPS 2013, section 2.
std::unique_ptr<const StepPolicy> bounded(std::uint32_t bound);
// Async: a push is applied as it comes, and nobody waits for others.
std::unique_ptr<const StepPolicy> immediate();
// As many pushes as there are shards, divided by `n`, are one update, and nobody waits for others. Gupta,
// Zhang, Wang, "Model accuracy and runtime tradeoff in distributed deep learning", ICDM 2016, section 3.
std::unique_ptr<const StepPolicy> softsync(std::uint32_t n);
// The same, and readers wait for nothing at all.
std::unique_ptr<const StepPolicy> free_softsync(std::uint32_t n);
// Sync that waits for all shards but the `late` slowest of a step, whose pushes are dropped. Chen, Pan,
// Monga, Bengio, Jozefowicz, "Revisiting Distributed Synchronous SGD", ICLR 2016 workshop, section 3.
std::unique_ptr<const StepPolicy> backup(std::uint32_t late);
// Sync whose steps wait for so long at most; pushes that come later are dropped.
std::unique_ptr<const StepPolicy> max_wait_policy(Duration limit);

std::unique_ptr<const StepPolicy> step_policy(Consistency consistency);

// Whether several servers can keep what is pushed. Where updates depend on what came first, copies of ranges
// that are at different updates would not add up to one table.
bool keeps_copies(Consistency consistency);

// Whether `clock` is at most `bound` steps of one epoch behind `wanted`.
bool is_within(Step clock, Step wanted, std::uint64_t bound);
// Whether so few steps are open up to `step`, where those before `open` are closed, that it may come already.
bool is_near(Step open, Step step);

}  // namespace thalweg
