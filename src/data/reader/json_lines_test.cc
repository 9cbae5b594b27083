#include <gtest/gtest.h>

#include <cmath>

#include <string>

#include "data/reader/json_string.h"
#include "data/reader/parsed_for_test.h"

namespace thalweg {
namespace {

TEST(JsonLines, KeysAreThoseOfCsv) {
  const Parsed csv =
      parse("csv", "city,age,pro,label,weight\nRome,30,true,1,0.5\n\"a \"\"b\"\"\",,false,0,2\n");
  const Parsed p =
      parse("jsonl",
            "{\"city\": \"Rome\", \"age\": 30, \"pro\": true, \"label\": 1, \"weight\": 0.5}\n"
            "{\"city\":\"a \\\"b\\\"\",\"age\":null,\"pro\":false,\"label\":0,\"weight\":2}\r\n");
  ASSERT_TRUE(csv.ok && p.ok) << p.error.expected;
  EXPECT_EQ(p.batch.keys, csv.batch.keys);
  EXPECT_EQ(p.batch.values, csv.batch.values);
  EXPECT_EQ(p.batch.row_begin, csv.batch.row_begin);
  EXPECT_EQ(p.batch.labels, csv.batch.labels);
  EXPECT_EQ(p.batch.weights, csv.batch.weights);
}

TEST(JsonLines, MembersOfObjectsAreNamedByTheirPath) {
  EXPECT_EQ(parse("jsonl", R"({"y":1,"user":{"id":"x","at":{"h":3},"no":{}},"z":{"id":"x"}})"
                           "\n")
                .batch.keys,
            parse("jsonl", R"({"y":1,"user.id":"x","user.at.h":3,"z.id":"x"})"
                           "\n")
                .batch.keys);
}

TEST(JsonLines, AnArrayIsSeveralCategories) {
  const Parsed p = parse("jsonl", "{\"y\":1,\"tag\":[\"a\", \"7\" ,7,true,null],\"none\":[ ]}\n");
  ASSERT_TRUE(p.ok) << p.error.expected;
  ASSERT_EQ(p.batch.entries(), 4u);
  EXPECT_EQ(p.batch.keys[1], p.batch.keys[2]);
  EXPECT_EQ(p.batch.keys[0], parse("jsonl", "{\"y\":1,\"tag\":\"a\"}\n").batch.keys[0]);
  EXPECT_TRUE(p.batch.values.empty());
}

TEST(JsonLines, LabelsAndWeights) {
  const Parsed p = parse("jsonl",
                         "{\"click\":true}\n{\"clicked\":false}\n{\"target\":-0.25e1}\n{\"y\":\"1\"}\n"
                         "{\"label\":\"no\",\"weight\":null}\n");
  ASSERT_TRUE(p.ok) << p.error.expected;
  EXPECT_EQ(p.batch.labels, (Floats{1, 0, -2.5f, 1, 0}));
  EXPECT_TRUE(p.batch.weights.empty());
  ReadOptions named;
  named.label_column = "a.won";
  named.weight_column = "n";
  const Parsed q = parse("jsonl", "{\"y\":3,\"a\":{\"won\":2},\"n\":4,\"weight\":5}\n", named);
  ASSERT_TRUE(q.ok) << q.error.expected;
  EXPECT_EQ(q.batch.labels, Floats{2});
  EXPECT_EQ(q.batch.weights, Floats{4});
  EXPECT_EQ(q.batch.values, (Floats{3, 5}));
}

TEST(JsonLines, ARowToScoreNeedsNoLabelAndUsesNone) {
  ReadOptions scoring;
  scoring.labels_needed = false;
  const Parsed p = parse("jsonl", "{\"x\":2}\n{\"x\":2,\"label\":\"?\",\"weight\":-1}\n{}\n", scoring);
  ASSERT_TRUE(p.ok) << p.error.expected;
  EXPECT_EQ(p.batch.row_begin, (Fields{0, 1, 2, 2}));
  EXPECT_EQ(p.batch.keys[0], p.batch.keys[1]);
}

TEST(JsonLines, AModelOfCsvSaysWhatMembersAre) {
  ReadOptions options;
  options.known_columns = "hour:cat,price:num,id:-,label:label";
  const Parsed p = parse("jsonl", "{\"id\":7,\"hour\":14,\"price\":2,\"new\":\"x\",\"label\":1}\n", options);
  ASSERT_TRUE(p.ok) << p.error.expected;
  ReadOptions kinds;
  kinds.columns = "id:-,hour:cat,price:num,label";
  EXPECT_EQ(p.batch.keys, parse("csv", "7,14,2,1\n", kinds).batch.keys);
  EXPECT_EQ(p.batch.values, (Floats{1, 2}));
}

TEST(JsonLines, NumbersTakeTheFormsOfAModelOfCsv) {
  ReadOptions options;
  options.known_columns = "price:num/4,at:num-100/10,views:num:log,hits:num:bucket,label:label";
  const Parsed p = parse("jsonl",
                         "{\"price\":2,\"at\":105,\"views\":7,\"hits\":21,\"label\":1}\n"
                         "{\"price\":null,\"hits\":null,\"label\":0}\n",
                         options);
  ASSERT_TRUE(p.ok) << p.error.expected;
  ReadOptions kinds;
  kinds.columns = options.known_columns;
  const Parsed csv = parse("csv", "2,105,7,21,1\n,,,,0\n", kinds);
  EXPECT_EQ(p.batch.keys, csv.batch.keys);
  EXPECT_EQ(p.batch.values, csv.batch.values);
  EXPECT_EQ(p.batch.values, (Floats{0.5f, 0.5f, std::log(8.0f), 1, 1}));
}

TEST(JsonLines, ColumnsSayWhatMembersAre) {
  ReadOptions told;
  told.columns = "user.id:cat,price:num/4,age:num,raw:num:raw,skip:-,won:label,n:weight,C*:cat";
  const Parsed p =
      parse("jsonl",
            R"({"won":1,"n":2,"user":{"id":7},"price":"8","age":" 30","raw":true,"skip":{"a":1},)"
            R"("C2":5,"label":3,"new":"x"})"
            "\n"
            R"({"won":0,"price":null,"age":"NA","raw":"\u0031","C1":"a"})"
            "\n",
            told);
  ASSERT_FALSE(p.ok) << "an escaped digit is none";
  EXPECT_NE(p.error.expected.find("a finite number (member \"raw\""), std::string::npos) << p.error.expected;
  ASSERT_EQ(p.batch.rows(), 1u);
  const Parsed csv = parse("csv", "won,n,user.id,price,age,raw,C2,label,new\n1,2,7,8,30,1,5,3,x\n", [] {
    ReadOptions options;
    options.columns = "won:label,n:weight,user.id:cat,price:num/4,raw:num:raw,C2:cat,label:num";
    return options;
  }());
  ASSERT_TRUE(csv.ok) << csv.error.expected;
  EXPECT_EQ(p.batch.keys, csv.batch.keys);
  EXPECT_EQ(p.batch.values, (Floats{1, 2, 30, 1, 1, 3, 1}));
  EXPECT_EQ(p.batch.labels, Floats{1});
  EXPECT_EQ(p.batch.weights, Floats{2});
}

TEST(JsonLines, StringsAreUnescaped) {
  const auto read = [](const std::string& quoted) {
    const std::string line = quoted + "\n" + std::string(kTextPad, '\0');
    std::string scratch;
    std::string_view text;
    RowError error;
    const char* p = line.data();
    if (!read_json_string(p, text, scratch, error)) return "bad: " + error.expected;
    EXPECT_EQ(p, line.data() + quoted.size());
    return std::string(text);
  };
  EXPECT_EQ(read(R"("")"), "");
  EXPECT_EQ(read(R"("a\\\"\/\b\f\n\r\tz")"), "a\\\"/\b\f\n\r\tz");
  EXPECT_EQ(read(R"("\u0041\u00e9\u20AC\ud83d\ude00")"), "A\u00e9\u20ac\U0001f600");
  for (const char* text :
       {R"("\x")", R"("\u12")", R"("\ud83d")", R"("\ud83dx")", R"("\ude00")", R"("\ud83d\u0041")"}) {
    EXPECT_EQ(read(text).rfind("bad: an escape", 0), 0u) << text;
  }
  EXPECT_EQ(read("\"a\tb\""), "bad: no control character in a string");
  EXPECT_EQ(read("\"ab\\\""), "bad: a closing quote on the same line");
}

TEST(JsonLines, NumbersAreThoseOfTheGrammar) {
  for (const std::string text : {"0", "-0", "10", "1.5", "1e5", "1E+05", "-0.1e-3"}) {
    EXPECT_EQ(json_number_end(text.c_str()), text.c_str() + text.size()) << text;
  }
  for (const std::string text : {"", "-", "+1", ".5", "1.", "1e", "1e+", "NaN", "Infinity", "1.e5"}) {
    EXPECT_EQ(json_number_end(text.c_str()), nullptr) << text;
  }
}

struct BadJson {
  std::string text;
  std::ptrdiff_t column;
  const char* expected;
};

class BadJsonLines : public testing::TestWithParam<BadJson> {};

TEST_P(BadJsonLines, NameThePlace) {
  ReadOptions options;
  options.binary_labels = true;
  const Parsed p = parse("jsonl", "{\"y\":1,\"a\":2}\n" + GetParam().text + "\n", options);
  ASSERT_FALSE(p.ok) << GetParam().text;
  EXPECT_EQ(p.column, GetParam().column) << GetParam().text;
  EXPECT_NE(p.error.expected.find(GetParam().expected), std::string::npos) << p.error.expected;
  EXPECT_EQ(p.batch.rows(), 1u);
  EXPECT_EQ(p.batch.entries(), 1u);
}

std::string nested(int depth) {
  std::string text = "{\"y\":1";
  for (int i = 1; i < depth; ++i) text += ",\"a\":{\"b\":1";
  return text + std::string(static_cast<std::size_t>(depth), '}');
}

INSTANTIATE_TEST_SUITE_P(
    All, BadJsonLines,
    testing::Values(
        BadJson{"[1]", 1, "an object a line"}, BadJson{"{\"a\":1}", 1, "a member label"},
        BadJson{"{\"y\":2}", 6, "-1, 0 or 1"}, BadJson{"{\"y\":null}", 6, "a label"},
        BadJson{"{\"y\":\"one\"}", 6, "a label"}, BadJson{"{\"y\":1,\"click\":1}", 16, "one label"},
        BadJson{"{\"y\":1,\"weight\":-1}", 17, "a weight"}, BadJson{"{\"y\":1,\"a\":NaN}", 12, "null"},
        BadJson{"{\"y\":1,\"a\":1e99}", 12, "a finite number"},
        BadJson{"{\"y\":1,\"a\":01}", 12, "a finite number"},
        BadJson{"{\"y\":1,\"a\":[1,{}]}", 15, "in an array"}, BadJson{"{\"y\":1,\"a\":[1 2]}", 15, "']'"},
        BadJson{"{\"y\":1,\"a\":\"x", 12, "a closing quote"}, BadJson{"{\"y\":1", 7, "'}'"},
        BadJson{"{\"y\":1,}", 8, "in quotes"}, BadJson{"{\"y\" 1}", 6, "':'"},
        BadJson{"{\"y\":1} x", 9, "the line's end"}, BadJson{nested(9), 89, "at most 8"}));

TEST(JsonLines, EightObjectsMayStandInOneAnother) { EXPECT_TRUE(parse("jsonl", nested(8) + "\n").ok); }

}  // namespace
}  // namespace thalweg
