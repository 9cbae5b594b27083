#include "data/pair/interactions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/temporary_folder_for_test.h"
#include "data/data_set.h"
#include "data/reader/parsed_for_test.h"
#include "data/reader/row_loop.h"

namespace thalweg {
namespace {

class InteractionsTest : public ::testing::Test {
 protected:
  // All rows of a file with this text.
  Result<Batch> rows(const std::string& name, const std::string& text, const std::string& interactions,
                     unsigned hash_bits = 0, std::uint64_t max_bad_rows = 0) const {
    ReadOptions options;
    options.paths = {folder_.write(name, text)};
    options.interactions = interactions;
    options.hash_bits = hash_bits;
    options.max_bad_rows = max_bad_rows;
    const auto data = DataSet::open(options);
    if (!data) return data.status();
    const auto reader = (*data)->reader(ShardId{0}, 1);
    if (!reader) return reader.status();
    Batch batch;
    const auto count = (*reader)->next(1000, batch);
    if (!count) return count.status();
    return batch;
  }
  std::string refusal(const std::string& name, const std::string& text,
                      const std::string& interactions) const {
    const auto got = rows(name, text, interactions);
    EXPECT_FALSE(got.ok());
    return got.status().message();
  }

  const TemporaryFolder folder_;
};

constexpr const char* kVwRows = "1 |user a:2 b |item x:3\n-1 |item y\n1 |user a |zoo q |item x y\n";

TEST_F(InteractionsTest, ProductsOfTwoNamespacesFollowTheRowsOwnEntries) {
  const auto plain = rows("a.vw", kVwRows, "");
  const auto got = rows("a.vw", kVwRows, "user*item");
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got->row_begin, (Fields{0, 5, 6, 12}));
  const auto& k = plain->keys;  // a b x, y, a q x y
  EXPECT_EQ(got->keys, (ParsedKeys{k[0], k[1], k[2], pair_key(k[0], k[2]), pair_key(k[1], k[2]), k[3], k[4],
                                   k[5], k[6], k[7], pair_key(k[4], k[6]), pair_key(k[4], k[7])}));
  EXPECT_EQ(got->values, (Floats{2, 1, 3, 6, 3, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(got->labels, plain->labels);
  EXPECT_EQ(got->fields[3], kPairField);
}

TEST_F(InteractionsTest, APairIsTheSameWhicheverComesFirst) {
  EXPECT_EQ(rows("a.vw", "1 |a x |b y\n", "a*b")->keys[2], rows("b.vw", "1 |b y |a x\n", "b*a")->keys[2]);
  EXPECT_NE(pair_key(1, 2), pair_key(1, 3));
  EXPECT_NE(pair_key(1, 2), pair_key(3, 0));
}

TEST_F(InteractionsTest, NamespacesAreToldApartByTheirWholeNames) {
  EXPECT_EQ(rows("a.vw", "1 |user a |url b |item x\n", "user*item")->entries(), 4u);
}

TEST_F(InteractionsTest, AStarIsEachPairOfPartsOnce) {
  const auto got = rows("a.vw", "1 |a p q |b r |c s\n", "*,a*b,c*a");
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->entries(), 4u + 5u);  // p and q are of one part.
  EXPECT_EQ(rows("a.vw", "1 |a p q |b r |c s\n", "*")->keys, got->keys);
}

TEST_F(InteractionsTest, APartWithItselfPairsEachTwoAndSquaresNumbers) {
  EXPECT_EQ(rows("a.vw", "1 |a p q r |b s\n", "a*a")->entries(), 4u + 3u);
  const auto got = rows("b.vw", "1 |a p:3 q\n", "a*a");
  EXPECT_EQ(got->values, (Floats{3, 1, 9, 3}));
}

TEST_F(InteractionsTest, ColumnsMembersFieldsAndCriteosCellsHaveNamesToo) {
  const std::string csv = "user,item,n,label\nu1,i1,0.5,1\nu2,i2,0.25,0\n";
  const auto of_csv = rows("a.csv", csv, "user*item,user*n");
  ASSERT_TRUE(of_csv.ok()) << of_csv.status().message();
  EXPECT_EQ(of_csv->row_begin, (Fields{0, 5, 10}));
  const auto of_json = rows("a.jsonl", "{\"user\":\"u1\",\"item\":\"i1\",\"label\":1}\n", "user*item");
  ASSERT_TRUE(of_json.ok()) << of_json.status().message();
  EXPECT_EQ(of_json->keys, (ParsedKeys{of_csv->keys[0], of_csv->keys[1], of_csv->keys[3]}));
  EXPECT_EQ(rows("a.ffm", "1 0:5:1 1:6:2 2:7:3\n", "0*1,1*2")->values, (Floats{1, 2, 3, 2, 6}));
  std::string criteo = "1";
  for (int cell = 0; cell < 39; ++cell) criteo.append("\t").append(std::to_string(cell));
  EXPECT_EQ(rows("a.tsv", criteo.append("\n"), "I1*C26,C1*C14")->entries(), 41u);
}

TEST_F(InteractionsTest, PairsAreMadeOfKeysBeforeTheyAreHashedToFewBits) {
  const auto wide = rows("a.vw", kVwRows, "user*item");
  const auto narrow = rows("a.vw", kVwRows, "user*item", 12);
  ASSERT_TRUE(narrow.ok());
  const RowRules rules([] {
    ReadOptions options;
    options.hash_bits = 12;
    return options;
  }());
  ASSERT_EQ(narrow->keys.size(), wide->keys.size());
  for (std::size_t e = 0; e < wide->keys.size(); ++e) EXPECT_EQ(narrow->keys[e], rules.key(wide->keys[e]));
}

TEST_F(InteractionsTest, ARowOfTooManyPairsIsABadOne) {
  std::string many = "1 |a";
  for (int i = 0; i < 257; ++i) many.append(" x").append(std::to_string(i));
  many += " |b";
  for (int i = 0; i < 256; ++i) many.append(" y").append(std::to_string(i));
  const std::string text = fmt::format("1 |a x |b y\n{}\n0 |a x |b y\n", many);
  const auto refused = rows("a.vw", text, "a*b");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("a.vw:2:1"), std::string::npos) << refused.status().message();
  EXPECT_NE(refused.status().message().find("at most 65536 pairs"), std::string::npos);
  const auto skipped = rows("a.vw", text, "a*b", 0, 1);
  ASSERT_TRUE(skipped.ok()) << skipped.status().message();
  EXPECT_EQ(skipped->labels, (Floats{1, 0}));
  EXPECT_EQ(skipped->row_begin, (Fields{0, 3, 6}));
}

TEST_F(InteractionsTest, AProductThatIsNoNumberIsABadRow) {
  const auto got = rows("a.vw", "1 |a x:1e30 |b y:1e30\n", "a*b");
  ASSERT_FALSE(got.ok());
  EXPECT_NE(got.status().message().find("finite"), std::string::npos) << got.status().message();
  EXPECT_EQ(rows("b.vw", "1 |a x:1e-30 |b y:1e-30\n", "a*b")->entries(), 2u);  // It is 0.
}

TEST_F(InteractionsTest, SaysWhatItCannotPair) {
  const std::string csv = "user,item,label\na,b,1\nc,d,0\n";
  EXPECT_NE(refusal("a.csv", csv, "user*itme").find("no features called \"itme\"; expected user, item"),
            std::string::npos);
  EXPECT_NE(refusal("a.csv", csv, "user*label").find("\"label\""), std::string::npos);
  EXPECT_NE(refusal("a.svm", "1 3:1 4:1\n0 3:1\n", "*").find("is libsvm"), std::string::npos);
  for (const char* bad : {"user", "user*", "*item", "a*b*c", "a*b,", "\"a*b", "**", ""}) {
    if (*bad == 0) continue;
    EXPECT_NE(refusal("a.csv", csv, bad).find("expected NAME*NAME"), std::string::npos) << bad;
  }
}

TEST(Interactions, NamesMayStandInQuotes) {
  const auto items = parse_interactions("\"a,b\"*c,\"x\"\"*\"*\"y\"");
  ASSERT_TRUE(items.ok());
  EXPECT_EQ((*items)[0].left, "a,b");
  EXPECT_EQ((*items)[1].left, "x\"*");
  EXPECT_EQ((*items)[1].right, "y");
}

}  // namespace
}  // namespace thalweg
