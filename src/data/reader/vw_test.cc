#include <gtest/gtest.h>
#include <xxhash.h>

#include <string_view>

#include "data/reader/detect.h"
#include "data/reader/parsed_for_test.h"

namespace thalweg {
namespace {

Key key_of(std::string_view space, std::string_view name) {
  const Key seed = space.empty() ? 0 : XXH3_64bits(space.data(), space.size());
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

TEST(Vw, ReadsLabelsWeightsAndTags) {
  const Parsed p = parse("vw",
                         "1 |f a\n-1 2.5 |f a\n0 0.5 0 |f a\n1 'tag |f a\n1 2 tag|f a\n \t1 'x:y|f a\r\n"
                         "0.25 |\n");
  ASSERT_TRUE(p.ok) << p.error.expected;
  EXPECT_EQ(p.batch.labels, (Floats{1, -1, 0, 1, 1, 1, 0.25f}));
  EXPECT_EQ(p.batch.weights, (Floats{1, 2.5f, 0.5f, 1, 2, 1, 1}));
  EXPECT_EQ(p.batch.row_begin, (Fields{0, 1, 2, 3, 4, 5, 6, 6}));
}

TEST(Vw, AKeyIsOfNameAndNamespace) {
  const Parsed p = parse("vw", "1 |user a 17 |item a:2 é=b/c|user a |a a\t17| a\n");
  ASSERT_TRUE(p.ok) << p.error.expected;
  EXPECT_EQ(p.batch.keys, (ParsedKeys{key_of("user", "a"), key_of("user", "17"), key_of("item", "a"),
                                      key_of("item", "é=b/c"), key_of("user", "a"), key_of("a", "a"),
                                      key_of("a", "17"), key_of("", "a")}));
  EXPECT_EQ(p.batch.values, (Floats{1, 1, 2, 1, 1, 1, 1, 1}));
}

TEST(Vw, ANamespaceOfNamesHasTheKeysOfAColumn) {
  const Parsed csv = parse("csv", "city,age,label\nRome,30,1\n");
  EXPECT_EQ(parse("vw", "1 |city Rome | age:30\n").batch.keys, csv.batch.keys);
}

TEST(Vw, AWholeNumberIsTheSameNameInANamespaceWithItsFraction) {
  const Parsed p = parse("vw", "1 |age 34 34.0 34.5 | 34.0\n");
  EXPECT_EQ(p.batch.keys, (ParsedKeys{key_of("age", "34"), key_of("age", "34"), key_of("age", "34.5"),
                                      key_of("", "34.0")}));
  EXPECT_EQ(parse("csv", "age,label\n34.0,1\nx,1\n").batch.keys[0], p.batch.keys[0]);
}

TEST(Vw, AFieldIsOfANamespacesFirstByteAlone) {
  const Parsed p = parse("vw", "1 | x |a x |zoo x |A x |Z x |0 x |9 x |user x |use x\n0 |user x\n");
  EXPECT_EQ(p.batch.fields, (Fields{0, 1, 26, 27, 52, 53, 62, 21, 21, 21}));
}

TEST(Vw, AScaleMultipliesItsNamespaceAndZeroIsNoEntry) {
  const Parsed p = parse("vw", "1 |n:2.5 a b:2 c:0 d:-1e0|m a:0.5 |z:0 a b:3\n");
  ASSERT_TRUE(p.ok) << p.error.expected;
  EXPECT_EQ(p.batch.values, (Floats{2.5f, 5, -2.5f, 0.5f}));
  EXPECT_TRUE(parse("vw", "1 |n a b:1\n").batch.values.empty());
}

TEST(Vw, ARowToScoreNeedsNoLabel) {
  ReadOptions scoring;
  scoring.labels_needed = false;
  const Parsed p = parse("vw", "|f a\n'tag |f a\ntag|f a\n7 |f a\n", scoring);
  ASSERT_TRUE(p.ok) << p.error.expected;
  EXPECT_EQ(p.batch.rows(), 4u);
  EXPECT_FALSE(parse("vw", "|f a\n").ok);
}

TEST(Vw, HashBitsBoundKeys) {
  ReadOptions options;
  options.hash_bits = 10;
  for (const Key key : parse("vw", "1 |f a b c |g a b c\n", options).batch.keys) EXPECT_LT(key, 1024u);
}

struct BadVw {
  const char* text;
  std::ptrdiff_t column;
  const char* expected;
};

class BadVwRows : public testing::TestWithParam<BadVw> {};

TEST_P(BadVwRows, NameThePlace) {
  ReadOptions options;
  options.binary_labels = GetParam().text[0] == '2';
  const Parsed p = parse("vw", "1 |f a\n" + std::string(GetParam().text) + "\n", options);
  ASSERT_FALSE(p.ok) << GetParam().text;
  EXPECT_EQ(p.column, GetParam().column) << GetParam().text;
  EXPECT_NE(p.error.expected.find(GetParam().expected), std::string::npos) << p.error.expected;
  EXPECT_EQ(p.batch.rows(), 1u);
  EXPECT_EQ(p.batch.entries(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadVwRows,
    testing::Values(BadVw{"x |f a", 1, "a label"}, BadVw{"2 |f a", 1, "-1, 0 or 1"},
                    BadVw{"|f a", 1, "a label and a blank"}, BadVw{"1|f a", 1, "a label and a blank"},
                    BadVw{"1:2:0.5 |f a", 1, "a label"}, BadVw{"1 -1 |f a", 3, "a weight"},
                    BadVw{"1 x |f a", 3, "a weight"}, BadVw{"1 1 0.5 |f a", 5, "a base of 0"},
                    BadVw{"1 1 0 7 |f a", 7, "a tag"}, BadVw{"1 2", 4, "'|' before"},
                    BadVw{"1 'tag 2 |f a", 8, "'|' behind the tag"}, BadVw{"1 |f a:x b", 6, "feature a"},
                    BadVw{"1 |f a: b", 6, "feature a"}, BadVw{"1 |f a:1e39", 6, "feature a"},
                    BadVw{"1 |f:1e30 a:1e30", 11, "times its scale"}, BadVw{"1 |f :5", 6, "a feature's name"},
                    BadVw{"1 |f:x a", 4, "|namespace:scale"}, BadVw{"1 |f a:1:2", 6, "feature a"}));

TEST(Vw, IsToldFromOtherFormats) {
  const auto found = [](const std::string& text) {
    const Result<const RowFormat*> format = detect_format(text, "file");
    return format ? std::string((*format)->name) : "nothing";
  };
  for (const char* text : {"1 |f a b:2\n", "-1 2.5 0 |f a, b;c\n", "|f a\n", "1 'tag |f a\n", "1 tag|f a\n",
                           "'tag |f a\n", " 0.5\t|f 3:1 4:1\n", "1 |a,b,c x\n"}) {
    EXPECT_EQ(found(text), "vw") << text;
  }
  EXPECT_EQ(found("1 3:1 4:0.5 # a|b\n"), "libsvm");
  EXPECT_EQ(found("label,path\n1,a|b\n0,c |d\n"), "csv");
  EXPECT_EQ(found("1,2|3,4\n5,6|7,8\n"), "csv");
  EXPECT_EQ(found("1|2|3\n"), "nothing");
  EXPECT_EQ(found("hello world |f a\n"), "nothing");
}

}  // namespace
}  // namespace thalweg
