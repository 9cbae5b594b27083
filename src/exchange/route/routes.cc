#include "exchange/route/routes.h"

#include "exchange/route/route.h"

namespace thalweg {
namespace routes {

std::span<const Route* const> all() {
#define THALWEG_LIST_ROUTE(name) &name,
  static constexpr const Route* kAll[] = {THALWEG_ROUTES(THALWEG_LIST_ROUTE)};
#undef THALWEG_LIST_ROUTE
  return kAll;
}

}  // namespace routes

const Route* find_route(std::uint32_t id) {
  for (const Route* route : routes::all()) {
    if (route->id == id) return route;
  }
  return nullptr;
}

}  // namespace thalweg
