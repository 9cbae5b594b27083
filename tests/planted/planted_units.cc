// The production tests of tables, exchange and streams, or of nodes, over sources with one bug switched on:
// planted_units --planted=NAME --gtest_filter=... Without a name, none is.
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

#include "base/planted.h"

namespace {

struct Named {
  std::string_view name;
  thalweg::Bug bug;
};

using thalweg::Bug;
constexpr Named kBugs[] = {
    {"RowUpdatedTwice", Bug::kRowUpdatedTwice},
    {"StateLost", Bug::kStateLost},
    {"SumsInARow", Bug::kSumsInARow},
    {"RingStepLost", Bug::kRingStepLost},
    {"RingOwnersShifted", Bug::kRingOwnersShifted},
    {"SumOrderMatters", Bug::kSumOrderMatters},
    {"HeaderUnread", Bug::kHeaderUnread},
    {"ChecksumUnread", Bug::kChecksumUnread},
    {"TailLost", Bug::kTailLost},
    {"RestFollows", Bug::kRestFollows},
    {"RepeatCounted", Bug::kRepeatCounted},
    {"EarlierOwnersForgotten", Bug::kEarlierOwnersForgotten},
    {"LoadTakesBack", Bug::kLoadTakesBack},
    {"BarrierByOldMap", Bug::kBarrierByOldMap},
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kOption = "--planted=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    for (const Named& named : kBugs) {
      if (argument.starts_with(kOption) && argument.substr(kOption.size()) == named.name)
        thalweg::planted = named.bug;
    }
    if (thalweg::planted == Bug::kNone) {
      std::fprintf(stderr, "planted_units: '%s' is not the name of a bug here\n", argv[i]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
