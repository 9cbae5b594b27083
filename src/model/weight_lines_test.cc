#include "model/weight_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "base/random.h"
#include "model/place_keys.h"

namespace thalweg {
namespace {

struct Weighted {
  std::vector<PlacedKey> keys;
  std::vector<float> weights;
};

Weighted weighted(const std::map<PlacedKey, float>& all) {
  Weighted out;
  for (const auto& [key, weight] : all) out.keys.push_back(key), out.weights.push_back(weight);
  return out;
}

void expect_found(const std::map<PlacedKey, float>& all, const std::vector<PlacedKey>& asked) {
  const Weighted table = weighted(all);
  WeightLines lines(table.keys.size());
  const std::size_t some = table.keys.size() / 3;
  lines.append(std::span(table.keys).first(some), std::span(table.weights).first(some));
  lines.append(std::span(table.keys).subspan(some), std::span(table.weights).subspan(some));
  std::vector<float> out(asked.size(), 9.0f);
  std::size_t met = 0;
  const std::size_t told = lines.read(asked, out.data());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto known = all.find(asked[i]);
    met += known != all.end();
    ASSERT_EQ(out[i], known == all.end() ? 0.0f : known->second) << i;
  }
  EXPECT_EQ(told, met);
}

TEST(WeightLines, FindWhatIsThereAndZeroForTheRest) {
  Random random(4);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{6}, std::size_t{300}, std::size_t{20000}}) {
    std::map<PlacedKey, float> all;
    while (all.size() < size) all[place(random.below(1u << 20))] = static_cast<float>(random.normal());
    std::vector<PlacedKey> asked;
    for (int i = 0; i < 5000; ++i) asked.push_back(place(random.below(1u << 20)));
    for (const auto& [key, weight] : all) asked.push_back(key);
    ASSERT_NO_FATAL_FAILURE(expect_found(all, asked));
  }
}

// As many as could ever want one line, at either end and in the middle: they lie in lines behind it.
TEST(WeightLines, HoldKeysThatAllWantTheSameLine) {
  for (const PlacedKey first : {PlacedKey{0}, PlacedKey{1} << 63, kNoPlace - 1000}) {
    std::map<PlacedKey, float> all;
    for (PlacedKey i = 0; i < 900; ++i) all[first + i] = static_cast<float>(i + 1);
    std::vector<PlacedKey> asked{first + 900, first + 950, 5, kNoPlace / 3, kNoPlace - 1};
    for (const auto& [key, weight] : all) asked.push_back(key);
    ASSERT_NO_FATAL_FAILURE(expect_found(all, asked));
  }
}

TEST(PlaceKeys, AreThoseOfPlace) {
  Random random(2);
  for (std::size_t size = 0; size < 40; ++size) {
    std::vector<Key> keys{0, kReservedKey - 1, 1};
    keys.resize(size);
    for (std::size_t i = 3; i < size; ++i) keys[i] = random.next();
    std::vector<PlacedKey> placed(size);
    place_keys(keys, placed.data());
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(placed[i], place(keys[i]));
  }
}

}  // namespace
}  // namespace thalweg
