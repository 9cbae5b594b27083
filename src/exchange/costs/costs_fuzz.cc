// Any bytes as a costs file: figures or an error, never a crash; what was read is the same when written out.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "exchange/costs/costs_file.h"

using namespace thalweg;  // NOLINT: a program of one file.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto read = parse_costs({reinterpret_cast<const char*>(data), size}, "costs.toml");  // NOLINT
  if (!read) return 0;
  for (const auto& [point, way] : read->routes.all()) {
    THALWEG_CHECK(check_plan(way.plan, point.operation, point.ranks).ok(),
                  "a route that is read can be taken");
    THALWEG_CHECK(!read->routes.of(point.shares_memory, point.ranks, point.operation).empty(),
                  "and is found");
  }
  const std::string text = to_toml(*read);
  if (text.size() > kCostsBytesMax) return 0;
  const auto again = parse_costs(text, "again.toml");
  THALWEG_CHECK(again.ok(), "a costs file that was written can be read");
  THALWEG_CHECK(to_toml(*again) == text && again->routes.digest() == read->routes.digest(),
                "with all it says");
  return 0;
}
