#include "data/reader/columns.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

std::string kinds(const std::string& head, const std::string& spec, const std::string& label = "") {
  ReadOptions options;
  options.columns = spec;
  options.label_column = label;
  const Result<Columns> columns = find_columns(head, "f.csv", options);
  if (!columns) return columns.status().message();
  std::string text;
  for (const Column& c : columns->list) text += c.name + ":" + column_kind_name(c.kind) + " ";
  return text;
}

TEST(Columns, HeaderAndRowsDecide) {
  EXPECT_EQ(kinds("id,label,city\n3,1,Rome\n,0,7\n", ""), "id:num label:label city:cat ");
  EXPECT_EQ(kinds("y;weight;a b\n1;1;\"x;y\"\n", ""), "y:label weight:weight a b:cat ");
}

std::string odd_cells(const std::string& head, const std::string& spec) {
  ReadOptions options;
  options.columns = spec;
  std::string text;
  const Columns columns = find_columns(head, "f.csv", options).value();
  for (const Column& c : columns.list) {
    if (!c.odd_cell.empty()) text += c.name + " " + c.odd_cell + " " + std::to_string(c.odd_line) + "; ";
  }
  return text;
}

TEST(Columns, NumbersThatAreWrittenForPeopleAreNoticed) {
  const std::string head =
      "label;price;many;part;ip;day;word;n\n1;3;;NA;1.2.3.4;1.2.24;a;1\n\n"
      "0;$3.50;1,234;3,5;10.0.0.1;2.2.24;$1;2\n0;-4 \u20ac;1,234,567.8;12 %;1.1.1.1;3,4,5;;3\n";
  EXPECT_EQ(odd_cells(head, ""), "price $3.50 4; many 1,234 4; part 3,5 4; ");
  EXPECT_EQ(odd_cells(head, "price:cat,part:-"), "many 1,234 4; ") << "what is said is meant";
  EXPECT_EQ(odd_cells("$1;$2\n1;2\n", "label,cat"), "");
}

TEST(Columns, FeaturesAreComparedWithAModelsOwn) {
  const auto compared = [](const std::string& head, const std::string& spec, const std::string& known,
                           bool fields = false) {
    ReadOptions options;
    options.columns = spec;
    return check_same_features(find_columns(head, "f.csv", options).value(), known, fields).message();
  };
  const std::string rows = "label,a,b\n1,2,3\n", known = "label:label,a:num,b:cat";
  EXPECT_EQ(compared(rows, "b:cat", known), "");
  EXPECT_EQ(compared(rows, "", known), "column \"b\" is num here, and the model was trained with it as cat");
  EXPECT_EQ(compared(rows, "b:-", known), "column \"b\" is - here, and the model was trained with it as cat");
  EXPECT_EQ(compared("label,b\n1,2\n", "b:cat", known),
            "column \"a\" is missing here, and the model was trained with it as num");
  EXPECT_EQ(compared("label,a,b,c\n1,2,x,3\n", "", known),
            "column \"c\" is num here, and the model was trained with it as no column");
  EXPECT_EQ(compared(rows, "label:-,a:label", known + ",c:-"),
            "column \"a\" is label here, and the model was trained with it as num");
  EXPECT_EQ(compared("b,a,label\nx,2,1\n", "", known), "");
  EXPECT_EQ(compared("b,a,label\nx,2,1\n", "", known, true),
            "column \"a\" is field 1 here, and the model was trained with it as field 0");
  EXPECT_EQ(compared("1,2,3,4\n", "label,cat,f:num*2", "label,cat,f:num*2"), "");
  EXPECT_EQ(compared("1,2,3,4\n", "label,cat*", "label,cat*"), "");
  EXPECT_EQ(compared("1,2,3,4\n", "label,cat*3", "label,cat*2,num"),
            "column \"c4\" is cat here, and the model was trained with it as num");
}

TEST(Columns, SpecByPosition) {
  EXPECT_EQ(kinds("196\t242\t3\t881250949\n", "user:cat,item:cat,label,-"),
            "user:cat item:cat c3:label c4:- ");
  EXPECT_EQ(kinds("0,1,2,3\n", "label,cat*"), "c1:label c2:cat c3:cat c4:cat ");
  EXPECT_EQ(kinds("0,1,2,3\n", "label,num*2,cat"), "c1:label c2:num c3:num c4:cat ");
  EXPECT_EQ(kinds("0,1,2,3\n", "label,f:num*3"), "c1:label f1:num f2:num f3:num ");
  EXPECT_EQ(kinds("a,b,c\n1,2,3\n", "cat,label,-"), "a:cat b:label c:- ");
}

TEST(Columns, SpecByNameLeavesTheOthers) {
  EXPECT_EQ(kinds("label,a,b\n1,2,3\n", "b:cat"), "label:label a:num b:cat ");
  EXPECT_EQ(kinds("label,a,b\n1,2,3\n", "b:label"), "label:- a:num b:label ");
  EXPECT_EQ(kinds("p,a\n1,2\n", "", "p"), "p:label a:num ");
}

// A file read as one that a model learnt from.
struct Known {
  std::string text;
  bool labels_needed = true;
};

std::string kinds_as_known(const std::string& head, const Known& known) {
  ReadOptions options;
  options.known_columns = known.text;
  options.labels_needed = known.labels_needed;
  const Result<Columns> columns = find_columns(head, "f.csv", options);
  if (!columns) return columns.status().message();
  std::string text;
  for (const Column& c : columns->list)
    text += c.name + ":" + column_kind_name(c.kind) + std::to_string(c.field) + " ";
  return text;
}

TEST(Columns, TextReadsBackTheSame) {
  const auto text = [](const std::string& head, const std::string& known) {
    ReadOptions options;
    options.known_columns = known;
    return columns_text(find_columns(head, "f.csv", options).value());
  };
  const std::string head = "label,\"a,b\",\"\"\"c\"\"\",d:e,d:e\n1,2,x,3,4\n";
  const std::string all = "label:label,\"a,b\":num,\"\"\"c\"\"\":cat,d:e:num,d:e:num";
  EXPECT_EQ(text(head, ""), all);
  EXPECT_EQ(text(head, all), all);
  EXPECT_EQ(text("1,2,x,3,4\n", all), all) << "a file without a header has the same columns";
}

TEST(Columns, KnownOnesAreNotGuessedAgain) {
  const Known known{"label:label,a:cat,id:-,b:num"};
  EXPECT_EQ(kinds_as_known("label,a,id,b\n1,2,9,3\n", known), "label:label0 a:cat0 id:-0 b:num1 ");
  EXPECT_EQ(kinds_as_known("b,new,a,label\n1,2,3,1\n", known), "b:num1 new:-0 a:cat0 label:label0 ")
      << "fields stay";
  EXPECT_EQ(kinds_as_known("label,a\n1,2\n", known),
            "f.csv: has no column \"b\", which the model was trained with; its columns are label, a");
  EXPECT_EQ(kinds_as_known("a,b\n1,2\n", known).substr(0, 30), "f.csv: no column is the label;");
}

TEST(Columns, ScoringNeedsNoLabel) {
  EXPECT_EQ(kinds_as_known("a,b\n1,2\n", {"w:weight,label:label,a:cat,b:num", false}), "a:cat0 b:num1 ");
  EXPECT_EQ(kinds_as_known("label,a\nx,2\n", {"label:label,a:cat", false}), "label:-0 a:cat0 ");
  EXPECT_EQ(kinds_as_known("3,2\n", {"c1:label,c2:cat,c3:num", false}), "c2:cat0 c3:num1 ");
}

TEST(Columns, TellsWhetherTheRowsDecided) {
  const auto guessed = [](const std::string& spec) {
    ReadOptions options;
    options.columns = spec;
    return find_columns("label,a,b\n1,2,3\n", "f.csv", options).value().guessed;
  };
  EXPECT_TRUE(guessed(""));
  EXPECT_TRUE(guessed("a:cat"));
  EXPECT_FALSE(guessed("a:cat,b:num,label:label"));
  EXPECT_FALSE(guessed("label,cat*"));
}

TEST(Columns, WrongSpecsSayWhatWasExpected) {
  const auto says = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says(kinds("0,1,2\n", ""), "saw no header");
  says(kinds("0,1,2\n", "label,cat"), "has 3 columns, --columns names 2");
  says(kinds("0,1,2\n", "label,cat,cat,cat"), "--columns names more");
  says(kinds("0,1,2\n", "label,dog,cat"), "saw \"dog\"");
  says(kinds("0,1,2\n", "label,cat*x"), "saw \"cat*x\"");
  says(kinds("0,1,2\n", "cat*"), "no column is the label");
  says(kinds("0,1,2\n", "label,label,cat"), "2 label");
  says(kinds("a,b\n1,2\n", ""), "no column is the label");
  says(kinds("label,b\n1,2\n", "c:cat"), "has no column \"c\", its columns are label, b");
  says(kinds("a,b\n1,2\n", "", "z"), "has no column \"z\"");
  says(kinds("a,b,c,d,e,f,g,h,i,an_uncommonly_long_name_of_a_column\n", "", "z"),
       "its columns are a, b, c, d, e, f, g, h and 2 more");
  says(kinds("an_uncommonly_long_name_of_a_column,b\n", "", "z"),
       "its columns are an_uncommonly_long_name_of_a_col..., b");
}

}  // namespace
}  // namespace thalweg
