// The routes, each described in a file of its own in this folder. A new one is that file and its name below.
#pragma once

#include <span>

namespace thalweg {

struct Route;  // route.h

// In the order in which they are listed and tried.
#define THALWEG_ROUTES(route)                                                                      \
  route(kStar) route(kServers) route(kSpread) route(kChain) route(kRing) route(kBidirectionalRing) \
      route(kRings) route(kBinomialTree) route(kTree) route(kDoubleTree) route(kRecursiveDoubling) \
          route(kHalvingDoubling) route(kHierarchical) route(kPackedTrees) route(kSpareServers)    \
              route(kShared)

namespace routes {

#define THALWEG_DECLARE_ROUTE(name) extern const Route name;
THALWEG_ROUTES(THALWEG_DECLARE_ROUTE)
#undef THALWEG_DECLARE_ROUTE

std::span<const Route* const> all();

}  // namespace routes
}  // namespace thalweg
