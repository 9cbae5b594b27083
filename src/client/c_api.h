// What the parts of the C interface have in common: handles, and statuses as codes.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "thalweg/group.h"
#include "thalweg/thalweg.h"

struct thalweg_group {
  thalweg::Group group;
};
struct thalweg_work {
  thalweg::GroupWork work;
};

namespace thalweg::c_api {

// Keeps the message for thalweg_message().
thalweg_code report(const Status& status);
inline thalweg_code wrong(std::string what) { return report(Status(Code::kUsage, std::move(what))); }

// C callers cannot catch: what is thrown here (no memory) becomes a status.
template <class Body>
thalweg_code guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    return report(Status(Code::kIo, std::string("out of resources: ") + error.what()));
  }
}

inline std::chrono::nanoseconds nanoseconds_of(double seconds) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}
// Up to ten years, which fit.
inline bool is_timeout(double seconds) { return std::isfinite(seconds) && seconds >= 0 && seconds < 3.2e8; }

inline bool is_type(thalweg_type type) { return static_cast<unsigned>(type) <= THALWEG_U64; }
inline bool is_reduction(thalweg_reduction reduction) {
  return static_cast<unsigned>(reduction) <= THALWEG_REPRODUCIBLE_SUM;
}

}  // namespace thalweg::c_api
