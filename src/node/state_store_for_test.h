// What every state store promises, whatever is below it: one suite for all of them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "node/state_store.h"

namespace thalweg {

// A store in which there is nothing.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual StateStore& store() = 0;
  // A lease of the length in which none of the suite's calls takes long.
  virtual Duration lease_length() const = 0;
  virtual void let_pass(Duration time) = 0;
  // What has been before its newest revision is known no more.
  virtual void forget() = 0;
};

struct StoreMaker {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;

  friend void PrintTo(const StoreMaker& maker, std::ostream* out) { *out << maker.name; }
};

class StateStoreSuite : public testing::TestWithParam<StoreMaker> {
 protected:
  void SetUp() override {
    made_ = GetParam().make();
    if (made_ == nullptr) GTEST_FAIL() << "there is no store";
  }
  StateStore& store() { return made_->store(); }
  void let_pass(Duration time) { made_->let_pass(time); }
  void forget() { made_->forget(); }
  Duration lease_length() const { return made_->lease_length(); }

  std::uint64_t set(const std::string& key, const std::string& value, StateLease lease = 0) {
    const StateChange change{key, value};
    const auto revision = store().swap({}, std::span(&change, 1), lease);
    EXPECT_TRUE(revision.ok()) << revision.status().message();
    return revision ? *revision : 0;
  }
  Code swap(std::vector<StateGuard> guards, std::vector<StateChange> changes, StateLease lease = 0) {
    return store().swap(guards, changes, lease).status().code();
  }
  std::string text(const std::string& prefix = "") {
    const auto view = store().get(prefix);
    EXPECT_TRUE(view.ok()) << view.status().message();
    std::string all;
    if (view) {
      for (const auto& [key, entry] : view->entries) all += key + "=" + entry.value + " ";
    }
    return all;
  }
  std::uint64_t revision_of(const std::string& key) {
    const auto view = store().get(key);
    return view && view->entries.contains(key) ? view->entries.at(key).revision : 0;
  }
  std::uint64_t revision() { return store().get("")->revision; }

 private:
  std::unique_ptr<StoreUnderTest> made_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StateStoreSuite);

TEST_P(StateStoreSuite, GivesWhatWasSetByPrefix) {
  EXPECT_EQ(text(), "");
  set("a/1", "one"), set("a/2", "two"), set("b", "three"), set("a0", "four");
  EXPECT_EQ(text(), "a/1=one a/2=two a0=four b=three ");
  EXPECT_EQ(text("a/"), "a/1=one a/2=two ");
  EXPECT_EQ(text("c"), "");
}

TEST_P(StateStoreSuite, KeepsAnyBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  set(std::string("k\xff\x01", 3), bytes);
  set("empty", "");
  EXPECT_EQ(store().get("k\xff")->entries.begin()->second.value, bytes);
  EXPECT_EQ(text("empty"), "empty= ");
}

TEST_P(StateStoreSuite, RevisionsGrowAndTellWhoChangedWhat) {
  const auto first = set("a", "1"), second = set("b", "1");
  EXPECT_GT(second, first);
  EXPECT_EQ(revision_of("a"), first);
  EXPECT_EQ(revision_of("b"), second);
  EXPECT_GE(revision(), second);
  const auto third = set("a", "2");
  EXPECT_GT(third, second);
  EXPECT_EQ(revision_of("a"), third);
}

TEST_P(StateStoreSuite, SwapsAllOrNothing) {
  const auto a = set("a", "1");
  EXPECT_EQ(swap({{"a", a}, {"b", 0}}, {{"a", "2"}, {"b", "2"}}), Code::kOk);
  EXPECT_EQ(text(), "a=2 b=2 ");
  EXPECT_EQ(revision_of("a"), revision_of("b"));
  EXPECT_EQ(swap({{"a", a}}, {{"a", "3"}, {"c", "3"}}), Code::kStale);  // It has changed since.
  EXPECT_EQ(swap({{"b", 0}}, {{"a", "3"}}), Code::kStale);              // It is there by now.
  EXPECT_EQ(swap({{"a", revision_of("a")}, {"d", 7}}, {{"a", "3"}}), Code::kStale);
  EXPECT_EQ(text(), "a=2 b=2 ");
}

TEST_P(StateStoreSuite, AKeyThatIsNoMoreIsAsIfItHadNeverBeen) {
  const auto a = set("a", "1");
  EXPECT_EQ(swap({{"a", a}}, {{"a", std::nullopt}, {"b", "1"}}), Code::kOk);
  EXPECT_EQ(text(), "b=1 ");
  EXPECT_EQ(swap({{"a", 0}}, {{"a", "2"}}), Code::kOk);
  EXPECT_EQ(swap({{"a", a}}, {{"a", "3"}}), Code::kStale);  // Not that one.
  EXPECT_EQ(text(), "a=2 b=1 ");
}

TEST_P(StateStoreSuite, GuardsAloneChangeNothing) {
  const auto a = set("a", "1");
  EXPECT_EQ(swap({{"a", a}}, {}), Code::kOk);
  EXPECT_EQ(swap({{"a", a + 100}}, {}), Code::kStale);
  EXPECT_EQ(revision_of("a"), a);
}

TEST_P(StateStoreSuite, WatchTellsWhatHasChangedSince) {
  const auto begin = set("a/x", "0");
  const auto none = store().watch("a/", revision(), Duration{0});
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_TRUE(none->empty());
  set("a/x", "1"), set("b", "1"), set("a/y", "1");
  EXPECT_EQ(swap({}, {{"a/x", std::nullopt}}), Code::kOk);
  std::string told;
  auto after = begin;
  while (told.size() < 18) {
    const auto events = store().watch("a/", after, std::chrono::seconds(5));
    ASSERT_TRUE(events.ok()) << events.status().message();
    ASSERT_FALSE(events->empty()) << told;
    for (const StateEvent& event : *events) {
      EXPECT_GT(event.revision, begin);
      told += event.change.key + "=" + event.change.value.value_or("gone") + " ";
      after = event.revision;
    }
  }
  EXPECT_EQ(told, "a/x=1 a/y=1 a/x=gone ");
}

TEST_P(StateStoreSuite, AWatchOfWhatIsForgottenIsStaleAndGoesOnFromWhatIsGotAnew) {
  const auto first = set("a", "1");
  set("b", "1"), set("a", "2");
  forget();
  EXPECT_EQ(store().watch("a", first, Duration{0}).status().code(), Code::kStale);
  const auto view = store().get("");
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_EQ(text(), "a=2 b=1 ");
  const auto none = store().watch("a", view->revision, Duration{0});
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_TRUE(none->empty());
  set("a", "3");
  const auto events = store().watch("a", view->revision, std::chrono::seconds(5));
  ASSERT_TRUE(events.ok()) << events.status().message();
  ASSERT_EQ(events->size(), 1u);
  EXPECT_EQ(events->front().change.value, "3");
}

TEST_P(StateStoreSuite, WhatIsBoundToALeaseEndsWithIt) {
  const auto lease = store().grant(lease_length());
  ASSERT_TRUE(lease.ok()) << lease.status().message();
  set("bound", "1", *lease), set("free", "1");
  EXPECT_TRUE(store().renew(*lease).ok());
  EXPECT_EQ(text(), "bound=1 free=1 ");
  let_pass(3 * lease_length());
  EXPECT_EQ(text(), "free=1 ");
  EXPECT_EQ(store().renew(*lease).code(), Code::kRefused);
  EXPECT_EQ(swap({}, {{"late", "1"}}, *lease), Code::kRefused);
  EXPECT_EQ(text(), "free=1 ");
}

TEST_P(StateStoreSuite, ALeaseThatIsRenewedHolds) {
  const auto lease = store().grant(lease_length());
  ASSERT_TRUE(lease.ok());
  set("bound", "1", *lease);
  for (int i = 0; i < 6; ++i) {
    let_pass(lease_length() / 2);
    ASSERT_TRUE(store().renew(*lease).ok());
  }
  EXPECT_EQ(text(), "bound=1 ");
}

TEST_P(StateStoreSuite, ALeaseCanBeGivenBack) {
  const auto lease = store().grant(lease_length());
  ASSERT_TRUE(lease.ok());
  const auto bound = set("bound", "1", *lease);
  EXPECT_EQ(swap({{"bound", bound}}, {{"unbound", "1"}}), Code::kOk);
  set("kept", "1", *lease), set("kept", "2");  // Bound to none any more.
  EXPECT_TRUE(store().revoke(*lease).ok());
  EXPECT_EQ(text(), "kept=2 unbound=1 ");
  EXPECT_TRUE(store().revoke(*lease).ok());
  EXPECT_EQ(swap({{"bound", bound}}, {{"x", "1"}}), Code::kStale);
}

}  // namespace thalweg
