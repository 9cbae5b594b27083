// Where a store's changes go, so that they outlive its process.
#pragma once

#include <cstdint>

#include "quorum/version.h"

namespace thalweg::quorum {

// Told of each change before anybody else is.
class Journal {
 public:
  virtual ~Journal() = default;
  virtual void note(Key key, const Record& record) = 0;  // All that there is of it now.
  // Null: there is no hint any more.
  virtual void note_hint(std::uint32_t target, Key key, const Record* hint) = 0;
  virtual void note_complete() = 0;

 protected:
  Journal() = default;
  Journal(const Journal&) = default;
  Journal& operator=(const Journal&) = default;
};

}  // namespace thalweg::quorum
