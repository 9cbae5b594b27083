#include "data/reader/row_parser.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "data/reader/detect.h"
#include "data/reader/parsed_for_test.h"

namespace thalweg {
namespace {

TEST(Libsvm, ReadsLabelsKeysAndValues) {
  const Parsed p = parse("libsvm", "1 3:1 12345678901:1 7:0.5\n-1 0:2 3:1\n+1 18446744073709551614:1e-3\n");
  ASSERT_TRUE(p.ok);
  EXPECT_EQ(p.batch.labels, (Floats{1, -1, 1}));
  EXPECT_EQ(p.batch.row_begin, (Fields{0, 3, 5, 6}));
  EXPECT_EQ(p.batch.keys, (ParsedKeys{3, 12345678901, 7, 0, 3, kReservedKey - 1}));
  EXPECT_EQ(p.batch.values, (Floats{1, 1, 0.5f, 2, 1, 0.001f}));
  EXPECT_TRUE(p.batch.weights.empty());
  EXPECT_TRUE(p.batch.fields.empty());
}

TEST(Libsvm, EveryNumberOfDigitsIsRead) {
  std::string text = "0";
  ParsedKeys keys;
  for (Key key = 1; key < 10000000000000000000ULL / 11 * 10; key = key * 10 + key % 7) {
    keys.push_back(key);
    text += fmt::format(" {}:1", key);
    if (key > 900000000000000000ULL) break;
  }
  const Parsed p = parse("libsvm", text + "\n");
  ASSERT_TRUE(p.ok);
  EXPECT_EQ(p.batch.keys, keys);
  EXPECT_GE(keys.size(), 17u);
}

TEST(Libsvm, ValuesStayAwayWhileAllAreOne) {
  EXPECT_TRUE(parse("libsvm", "1 3:1 4:1.0 5\n").batch.values.empty());
  EXPECT_EQ(parse("libsvm", "1 3:1\n0 4:10 5:1\n").batch.values, (Floats{1, 10, 1}));
}

TEST(Libsvm, LineEndsBlanksCommentsAndQid) {
  const Parsed p =
      parse("libsvm",
            "# a comment\n\n  \t\r\n1 3:1 \r\n0 qid:17 4:1 5:1  \n1 6:1 # 7:1\n 0\t8:1\t\n1\n0 9:1#10:1\n");
  ASSERT_FALSE(p.ok) << "a comment needs a blank before it";
  EXPECT_EQ(p.batch.labels, (Floats{1, 0, 1, 0, 1}));
  EXPECT_EQ(p.batch.keys, (ParsedKeys{3, 4, 5, 6, 8}));
  EXPECT_EQ(p.batch.row_begin, (Fields{0, 1, 3, 4, 5, 5}));
}

TEST(Libsvm, UnsortedAndRepeatedIndicesAreKept) {
  EXPECT_EQ(parse("libsvm", "1 9:1 3:1 9:1\n").batch.keys, (ParsedKeys{9, 3, 9}));
}

TEST(Libsvm, AWeightMayFollowTheLabel) {
  const Parsed p = parse("libsvm", "1 1:1\n0:2.5 2:1\n1 3:1\n");
  ASSERT_TRUE(p.ok);
  EXPECT_EQ(p.batch.weights, (Floats{1, 2.5f, 1}));
}

struct Bad {
  std::string_view format;
  const char* text;
  std::ptrdiff_t column;
  const char* expected;
};

class BadRows : public testing::TestWithParam<Bad> {};

TEST_P(BadRows, NameThePlace) {
  ReadOptions options;
  options.binary_labels = GetParam().text[0] == '2';
  if (GetParam().format == "csv") options.columns = "label,n:num,c:cat";
  // The rows before the bad one stand, its own entries are gone.
  const std::string good = GetParam().format == "csv" ? "1,2,x\n" : "";
  const Parsed p = parse(GetParam().format, good + GetParam().text + "\n", options);
  ASSERT_FALSE(p.ok) << GetParam().text;
  EXPECT_EQ(p.column, GetParam().column) << GetParam().text;
  EXPECT_NE(p.error.expected.find(GetParam().expected), std::string::npos) << p.error.expected;
  EXPECT_EQ(p.batch.rows(), good.empty() ? 0u : 1u);
  EXPECT_EQ(p.batch.entries(), p.batch.row_begin.back());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadRows,
    testing::Values(Bad{"libsvm", "x 1:1", 1, "a label"}, Bad{"libsvm", "nan 1:1", 1, "a label"},
                    Bad{"libsvm", "inf 1:1", 1, "a label"}, Bad{"libsvm", "1x 1:1", 1, "a label"},
                    Bad{"libsvm", "1,2 1:1", 1, "a label"}, Bad{"libsvm", "2 1:1", 1, "-1, 0 or 1"},
                    Bad{"libsvm", "1:-1 1:1", 3, "a weight"}, Bad{"libsvm", "1: 1:1", 3, "a weight"},
                    Bad{"libsvm", "1 2:1 a:1", 7, "index:value"}, Bad{"libsvm", "1 -3:1", 3, "index:value"},
                    Bad{"libsvm", "1 3:nan", 3, "a finite value of feature 3;"},
                    Bad{"libsvm", "1 3:inf", 3, "feature 3;"}, Bad{"libsvm", "1 3:1e39", 3, "feature 3;"},
                    Bad{"libsvm", "1 3:", 3, "feature 3;"}, Bad{"libsvm", "1 3:1e999999", 3, "feature 3;"},
                    Bad{"libsvm", "1 18446744073709551615:1", 3, "2^64-1"},
                    Bad{"libsvm", "1 18446744073709551616:1", 3, "2^64-1"},
                    Bad{"libsvm", "1 99999999999999999999999:1", 3, "2^64-1"},
                    Bad{"libsvm", "1 3:1x", 6, "a blank"}, Bad{"libsvm", "1 3:1:1", 6, "a blank"},
                    Bad{"libsvm", "1 qid:x 3:1", 3, "qid:N"}, Bad{"libffm", "1 0:3", 3, "field:index:value"},
                    Bad{"libffm", "1 4294967295:3:1", 3, "field:index:value"},
                    Bad{"libffm", "1 1:18446744073709551615:1", 3, "field:index:value"},
                    Bad{"libffm", "1 7:5:nan", 3, "feature 5 in field 7;"},
                    Bad{"libffm", "y 1:1:1", 1, "label"}, Bad{"libffm", "1 1:1:1,", 8, "a blank"},
                    Bad{"criteo", "1\t2", 4, "a tab"}, Bad{"criteo", "\t2", 1, "a label"},
                    Bad{"criteo", "1\tx\t", 3, "an integer"},
                    Bad{"criteo", "1\t99999999999999999999\t", 3, "an integer"},
                    Bad{"csv", "1,x,y", 3, "column \"n\""}, Bad{"csv", "1,2", 4, "3 columns"},
                    Bad{"csv", "1,2,3,4", 6, "3 columns"}, Bad{"csv", "1,2,\"x", 5, "a closing quote"},
                    Bad{"csv", "1,2,\"x\"y", 5, "a closing quote"}, Bad{"csv", ",2,x", 1, "a label"},
                    Bad{"csv", "1,inf,x", 3, "a finite number"}));

TEST(Libffm, ReadsFieldsAndValues) {
  const Parsed p = parse("libffm", "1 0:5:0.25 4294967294:6:1 # end\r\n0\n");
  ASSERT_TRUE(p.ok);
  EXPECT_EQ(p.batch.fields, (Fields{0, 4294967294}));
  EXPECT_EQ(p.batch.keys, (ParsedKeys{5, 6}));
  EXPECT_EQ(p.batch.values, (Floats{0.25f, 1}));
  EXPECT_EQ(p.batch.labels, (Floats{1, 0}));
}

std::string criteo_row(const std::string& integer, const std::string& category,
                       const std::string& end = "\n") {
  std::string row = "1";
  for (int i = 0; i < 13; ++i) row += "\t" + integer;
  for (int i = 0; i < 26; ++i) row += "\t" + category;
  return row + end;
}

TEST(Criteo, ScoringNeedsNoLabel) {
  const std::string row = criteo_row("3", "ab"), rest = row.substr(1);
  ReadOptions scoring;
  scoring.labels_needed = false;
  const ParsedKeys keys = parse("criteo", row).batch.keys;
  for (const std::string& text : {row, rest, rest.substr(1)}) {
    const Parsed p = parse("criteo", text, scoring);
    EXPECT_TRUE(p.ok) << p.error.expected;
    EXPECT_EQ(p.batch.keys, keys) << text;
    EXPECT_EQ(parse("criteo", text).ok, text == row);
  }
}

TEST(Criteo, TokensAreBucketedAndMixedWithTheirField) {
  const auto key = [](const std::string& integer) {
    const Parsed p = parse("criteo", criteo_row(integer, "68fd1e64"));
    EXPECT_TRUE(p.ok) << p.error.expected;
    EXPECT_EQ(p.batch.entries(), 39u);
    return p.batch.keys.empty() ? 0 : p.batch.keys[0];
  };
  EXPECT_EQ(key("3"), key("4"));        // floor(ln(v)^2) is 1 for both.
  EXPECT_EQ(key("1000"), key("1020"));  // 47.
  EXPECT_NE(key("1020"), key("1021"));  // 48.
  EXPECT_EQ(key("100000"), key("100500"));
  EXPECT_NE(key("1"), key("3"));  // The value 1 is not the bucket 1.
  EXPECT_NE(key(""), key("0"));
  EXPECT_NE(key("-1"), key("1"));
  const Parsed p = parse("criteo", criteo_row("5", "ab", "\r\n") + criteo_row("", ""));
  ASSERT_TRUE(p.ok);
  EXPECT_EQ(std::set<Key>(p.batch.keys.begin(), p.batch.keys.end()).size(), 78u);
  for (std::size_t e = 0; e < 78; ++e) EXPECT_EQ(p.batch.fields[e], e % 39);
  EXPECT_TRUE(p.batch.values.empty());
}

TEST(Csv, NumbersTakeTheirForms) {
  ReadOptions options;
  options.columns = "label,num/4,num-100/10,num:log,num:log/2,num:raw";
  const Parsed p = parse("csv", "1,2,105,-7,7,3e9\n0,1000,0,0,,1\n", options);
  ASSERT_TRUE(p.ok);
  EXPECT_EQ(p.batch.values, (Floats{0.5f, 0.5f, -std::log(8.0f), std::log(8.0f) / 2, 3e9f, 10, -10, 1}))
      << "what is scaled has at most ten times the scale, what is raw any size";
}

TEST(Csv, BucketsAreCategoriesOfLogarithms) {
  ReadOptions options;
  options.columns = "label,n:num:bucket";
  const Parsed p = parse("csv", "1,1\n1,2\n1,3\n1,21\n1,22\n1,30\n1,-4\n1,\n1,NA\n", options);
  ASSERT_TRUE(p.ok);
  ASSERT_EQ(p.batch.keys.size(), 9u);
  EXPECT_TRUE(p.batch.values.empty()) << "all are 1";
  EXPECT_NE(p.batch.keys[0], p.batch.keys[1]);
  EXPECT_NE(p.batch.keys[0], p.batch.keys[2]) << "floor(ln(3)^2) is 1, and no exact 1";
  EXPECT_EQ(p.batch.keys[3], p.batch.keys[4]) << "floor(ln(v)^2) is 9";
  EXPECT_NE(p.batch.keys[3], p.batch.keys[5]);
  EXPECT_EQ(p.batch.keys[7], p.batch.keys[8]) << "missing is a category";
  EXPECT_EQ((std::set<Key>(p.batch.keys.begin(), p.batch.keys.end()).size()), 7u);
}

TEST(Csv, HeaderQuotesAndKinds) {
  const Parsed p =
      parse("csv", "city,click,age\r\n\"Paris, \"\"FR\"\"\",1,30\r\nRome,0,\n\"Rome\",1,0\nParis, 0 ,1\n");
  ASSERT_TRUE(p.ok) << p.error.expected;
  EXPECT_EQ(p.batch.labels, (Floats{1, 0, 1, 0}));
  EXPECT_EQ(p.batch.row_begin, (Fields{0, 2, 3, 4, 6}));  // Empty and zero numbers are no entries.
  EXPECT_EQ(p.batch.values, (Floats{1, 30, 1, 1, 1, 1}));
  EXPECT_EQ(p.batch.fields, (Fields{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(p.batch.keys[2], p.batch.keys[3]);  // Quoted or not, Rome is Rome.
  EXPECT_EQ(p.batch.keys[1], p.batch.keys[5]);  // A numeric column has one key.
  EXPECT_NE(p.batch.keys[0], p.batch.keys[4]);
}

TEST(Csv, WordsForMissingValuesAndTruth) {
  const Parsed p = parse(
      "csv", "age,city,clicked\nNaN,NA,true\n30,Rome,No\nnull,Rome,FALSE\n\\N,Rome, yes \nN/A,,1\nnone,,0\n");
  ASSERT_TRUE(p.ok) << p.error.expected;
  EXPECT_EQ(p.batch.labels, (Floats{1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(p.batch.row_begin, (Fields{0, 1, 3, 4, 5, 6, 7}));  // A city called NA is a city.
  const Parsed bad = parse("csv", "age,clicked\n30,maybe\n");
  EXPECT_FALSE(bad.ok);
  EXPECT_EQ(bad.error.expected, "a label (a finite number, or true, false, yes or no)");
}

TEST(Csv, BlanksAroundANumberLeaveItOne) {
  const Parsed p = parse("csv", "label, age\n1, 30\n0, \n");
  ASSERT_TRUE(p.ok) << p.error.expected;
  EXPECT_EQ(p.batch.values, (Floats{30}));
}

TEST(Csv, SameStringInTwoColumnsHasTwoKeys) {
  ReadOptions options;
  options.columns = "a:cat,b:cat,label";
  const Parsed p = parse("csv", "7;7;1\n", options);
  ASSERT_TRUE(p.ok);
  EXPECT_NE(p.batch.keys[0], p.batch.keys[1]);
}

TEST(Csv, WeightsAndNamedLabel) {
  ReadOptions options;
  options.label_column = "clicks";
  const Parsed p = parse("csv", "weight\tclicks\tx\n0.5\t3\t2\n1\t4\t2\n", options);
  ASSERT_TRUE(p.ok);
  EXPECT_EQ(p.batch.labels, (Floats{3, 4}));
  EXPECT_EQ(p.batch.weights, (Floats{0.5f, 1}));
}

TEST(HashBits, KeysLieBelowTheirPowerOfTwo) {
  ReadOptions options;
  options.hash_bits = 10;
  for (const char* text : {"1 3:1 99999999999:1 7:0.5\n", "1 4:1 18446744073709551614:1\n"}) {
    const Parsed p = parse("libsvm", text, options);
    ASSERT_TRUE(p.ok);
    for (const Key key : p.batch.keys) EXPECT_LT(key, 1024u);
  }
  EXPECT_EQ(parse("libsvm", "1 3:1\n", options).batch.keys, parse("libsvm", "1 3:7\n", options).batch.keys);
}

TEST(BinaryLabels, MinusOneBecomesZero) {
  ReadOptions options;
  options.binary_labels = true;
  EXPECT_EQ(parse("libsvm", "-1 1:1\n1 1:1\n0 1:1\n", options).batch.labels, (Floats{0, 1, 0}));
}

TEST(BinaryLabels, AnEntryIsNoLabelWhereNoneIsNeeded) {
  ReadOptions options;
  options.binary_labels = true;
  options.labels_needed = false;
  EXPECT_EQ(parse("libsvm", "7 3:1\n1:2 3:1\n-1:2 3:1\n", options).batch.labels, (Floats{7, 1, -1}));
  EXPECT_FALSE(parse("libsvm", "3:1 7:1\n", options).ok);
  options.binary_labels = false;
  EXPECT_TRUE(parse("libsvm", "3:1 7:1\n", options).ok);
}

TEST(Detect, LooksAtTheRows) {
  const auto found = [](const std::string& text) {
    const Result<const RowFormat*> format = detect_format(text, "file");
    return format ? (*format)->name.data() : "nothing";
  };
  EXPECT_STREQ(found("1 3:1 4:0.5\n"), "libsvm");
  EXPECT_STREQ(found("# top\n\n-1 qid:3 3:1e-3\n"), "libsvm");
  EXPECT_STREQ(found("1\n0\n"), "libsvm");
  EXPECT_STREQ(found("1 0:3:1 4:5:0.5\n"), "libffm");
  EXPECT_STREQ(found(criteo_row("3", "ab")), "criteo");
  EXPECT_STREQ(found("label,a\n1,2\n"), "csv");
  EXPECT_STREQ(found("196\t242\t3\t881250949\n"), "csv");
  EXPECT_STREQ(found("a;b\n1;2\n"), "csv");
  EXPECT_STREQ(found("hello world\n"), "nothing");
  EXPECT_STREQ(found("oops\n1 3:1\n0 4:1\n"), "libsvm");
  EXPECT_STREQ(found("1:0.5 3:1 5 7:2\n"), "libsvm");
  EXPECT_STREQ(found("1\n0\n1 0:3:1\n0\n"), "libffm");
  EXPECT_STREQ(found("1 3:1 0:4:1\n"), "nothing");
  EXPECT_STREQ(found("1 3:nan 4:1\n"), "libsvm");
  EXPECT_STREQ(found("1 3:-Inf\n"), "libsvm");
  EXPECT_STREQ(found("1 0:3:NaN\n"), "libffm");
  EXPECT_STREQ(found("[id];[label]\n1;2\n"), "csv");
  EXPECT_STREQ(found("{braces},label\n1,2\n"), "csv");
  EXPECT_STREQ(found("{\"label\": 1, \"x\": 2}\n"), "jsonl");
  EXPECT_STREQ(found(" {\"label\":1,\"x\":\"a;b\\t1:2 |f\"}\n{}\n"), "jsonl");
}

TEST(Detect, JsonOverLinesIsNamedAndNotTakenForCsv) {
  for (const char* text : {"[{\"label\": 1, \"x\": 2},\n", "[\n", "{\n"}) {
    const std::string said = detect_format(text, "rows.json").status().message();
    EXPECT_NE(said.find("saw JSON that goes over several lines; expected rows of libsvm, libffm, Criteo, VW, "
                        "JSON lines or CSV"),
              said.npos)
        << said;
    EXPECT_EQ(said.rfind("rows.json:1:", 0), 0u) << said;
  }
}

TEST(Detect, ARowToScoreMayHaveNoLabel) {
  const std::string row = criteo_row("3", "ab");
  const std::string bare = row.substr(row.find('\t') + 1);
  EXPECT_EQ(detect_format(bare, "file").value()->name, "csv");
  EXPECT_EQ(detect_format(bare, "file", false).value()->name, "criteo");
}

TEST(Detect, ShownTextIsShortAndPrintable) {
  const std::string text =
      "a\x01\xff"
      "b c";
  EXPECT_EQ(shown(text.data(), text.data() + text.size()), "a\\x01\\xffb");
  const std::string large(100, 'x');
  EXPECT_EQ(shown(large.data(), large.data() + 100), std::string(40, 'x') + "...");
}

}  // namespace
}  // namespace thalweg
