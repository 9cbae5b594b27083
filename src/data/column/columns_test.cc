#include "data/column/columns.h"

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

TEST(Columns, NamesHaveNoBlanksAround) {
  const auto columns = find_columns("site , label\na,1\n", "a.csv", {});
  ASSERT_TRUE(columns.ok()) << columns.status().message();
  EXPECT_EQ(columns->list[0].name, "site");
  EXPECT_EQ(columns->list[1].kind, Column::Kind::kLabel);
}

TEST(Columns, HeaderAndRowsDecide) {
  EXPECT_EQ(kinds("id,label,city\n3,1,Rome\n,0,7\n", ""), "id:num label:label city:cat ");
  EXPECT_EQ(kinds("y;weight;a b\n1;1;\"x;y\"\n", ""), "y:label weight:weight a b:cat ");
}

TEST(Columns, NoneMayBeOneOfWeights) {
  ReadOptions options;
  options.weight_column = kNoWeights;
  const auto kind = [&](const std::string& known) {
    options.known_columns = known;
    return find_columns("weight,click\n3,1\n4,0\n", "f.csv", options).value().list[0].kind;
  };
  EXPECT_EQ(kind(""), Column::Kind::kNumeric);
  EXPECT_EQ(kind("weight:num,click:label"), Column::Kind::kNumeric);
  EXPECT_EQ(kind("weight:weight,click:label"), Column::Kind::kIgnored) << "as the model has it";
}

TEST(Columns, KeysOfWholeNumbersAreThoseWithoutTheirFraction) {
  EXPECT_EQ(category_key("34.0", 7), category_key("34", 7));
  EXPECT_EQ(category_key("-3.0", 7), category_key("-3", 7));
  for (const char* other : {"34.00", "34.", "-.0", "a.0", "3.4.0", "34.01"})
    EXPECT_NE(category_key(other, 7), category_key(std::string_view(other).substr(0, 2), 7)) << other;
}

TEST(Columns, ColumnsMayLackAName) {
  EXPECT_EQ(kinds(",click,x\n0,1,a\n1,0,b\n", ""), "c1:num click:label x:cat ") << "pandas' index";
  EXPECT_EQ(kinds("click,x,\n1,a,\n0,a,\n", ""), "click:label x:cat c3:num ");
  EXPECT_EQ(kinds("a,,b\na,x,c\n", "cat,cat,cat", "c1"), "c1:label c2:cat c3:cat ") << "rows";
  EXPECT_EQ(kinds("a,,b\nd,x,c\nd,x,c\n", "cat,cat,label"), "c1:cat c2:cat c3:label ") << "rows";
  EXPECT_NE(kinds(",,\na,b,c\n", "").find("saw no header"), std::string::npos);
}

TEST(Columns, EachHasANameOfItsOwn) {
  EXPECT_EQ(kinds("click,site,site,site.1,site\n1,a,b,c,d\n", ""),
            "click:label site:cat site.1:cat site.1.1:cat site.2:cat ");
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
  EXPECT_EQ(compared(rows, "a:num/3,b:cat", "label:label,a:num/2,b:cat"),
            "column \"a\" is num/3 here, and the model was trained with it as num/2");
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

// Where no cell of the first line is a number.
TEST(Columns, ALineWithALabelIsARow) {
  const std::string rows = "ann,book,yes\nbob,pen,no\n";
  EXPECT_EQ(kinds(rows, "cat,cat,label"), "c1:cat c2:cat c3:label ");
  EXPECT_EQ(kinds(rows, "user:cat,item:cat,click:label"), "user:cat item:cat click:label ");
  EXPECT_EQ(kinds("user,item,click\n" + rows, "cat,cat,label"), "user:cat item:cat click:label ");
  EXPECT_EQ(kinds("no,yes,item\nann,1,x\n", "yes:label"), "no:cat yes:label item:cat ") << "names are told";
}

TEST(Columns, ANameStandsOnceInWhatIsTold) {
  EXPECT_EQ(kinds("label,a,b\n1,2,3\n", "a:cat,b:-,a:num"),
            "--columns: names \"a\" twice, as cat and as num, expected each name once");
  EXPECT_EQ(kinds("label,a,b\n1,2,3\n", "*:cat,*:num").substr(0, 23), "--columns: names \"*\" tw");
}

TEST(Columns, SpecByNameLeavesTheOthers) {
  EXPECT_EQ(kinds("label,a,b\n1,2,3\n", "b:cat"), "label:label a:num b:cat ");
  EXPECT_EQ(kinds("label,a,b\n1,2,3\n", "b:label"), "label:- a:num b:label ");
  EXPECT_EQ(kinds("p,a\n1,2\n", "", "p"), "p:label a:num ");
}

std::string kind_texts(const std::string& head, const std::string& spec, const std::string& known = "",
                       const std::string& numbers = "") {
  ReadOptions options;
  options.columns = spec;
  options.known_columns = known;
  options.known_numbers = numbers;
  const Result<Columns> columns = find_columns(head, "f.csv", options);
  return columns ? columns_text(*columns) : columns.status().message();
}

TEST(Columns, PatternsAndRangesStandForSeveral) {
  const std::string head = "label,weight,C1,C2,C3,x,C*\n1,2,3,4,5,6,7\n";
  EXPECT_EQ(kind_texts(head, "*:cat"), "label:label,weight:weight,C1:cat,C2:cat,C3:cat,x:cat,\"C*\":cat");
  EXPECT_EQ(kind_texts(head, "C2:-,C*:cat"), "label:label,weight:weight,C1:cat,C2:-,C3:cat,x:num,\"C*\":cat")
      << "a name goes before a pattern, wherever it stands";
  EXPECT_EQ(kind_texts(head, "\"C*\":cat"),
            "label:label,weight:weight,C1:num,C2:num,C3:num,x:num,\"C*\":cat");
  EXPECT_EQ(kind_texts(head, "C1..C3:cat,C2..C3:num:raw,*:-"),
            "label:label,weight:weight,C1:cat,C2:num:raw,C3:num:raw,x:-,\"C*\":-");
  EXPECT_EQ(kind_texts("1,2,3\n", "c1:label,*:cat"), "c1:label,c2:cat,c3:cat") << "without a header, too";
  EXPECT_EQ(kind_texts(head, "D*:cat").substr(0, 23), "f.csv: has no column \"D");
  EXPECT_EQ(kind_texts(head, "C3..C1:cat").substr(0, 38), "f.csv: has no column \"C1\" behind \"C3\",");
}

TEST(Columns, NumbersHaveForms) {
  const std::string head = "y,a,b,num\n1,2,3,4\n";
  EXPECT_EQ(kind_texts(head, "a:num:log,b:num:bucket,num:num/2.5"),
            "y:label,a:num:log,b:num:bucket,num:num/2.5");
  EXPECT_EQ(kind_texts(head, "a:num-100/0.5,b:num:log/3,num:raw"), "f.csv: has 4 columns, --columns names 3");
  EXPECT_EQ(kind_texts("1,2,3,4\n", "label,num:log/3*2,num:raw"),
            "c1:label,c2:num:log/3,c3:num:log/3,c4:num:raw");
  EXPECT_EQ(kind_texts(head, "a:num--1e+06/2e-05"), "y:label,a:num--1000000/2e-05,b:num,num:num");
  for (const char* bad : {"num/0", "num/-1", "num/x", "num/", "num:", "num:cube", "num:bucket/2", "num:raw/2",
                          "num-5", "num-/2", "num/inf", "num/1e-45", "num2"}) {
    EXPECT_NE(kind_texts(head, std::string("a:") + bad).find("--columns: saw \"a:"), std::string::npos)
        << bad;
  }
}

TEST(Columns, ScalesOfAModelAreKept) {
  const std::string head = "y,a,b\n1,2,3\n";
  const std::string known = "y:label,a:num/7,b:num:log/2";
  EXPECT_EQ(kind_texts(head, "", known), known);
  EXPECT_EQ(kind_texts(head, "a:num,b:num:log", known), known) << "told by kind alone";
  EXPECT_EQ(kind_texts(head, "a:num,b:num:log", "", known), known);
  EXPECT_EQ(kind_texts(head, "a:num/8,b:num", "", known), "y:label,a:num/8,b:num");
  EXPECT_EQ(kind_texts(head, "", "y:label,a:num,b:num"), "y:label,a:num:raw,b:num:raw")
      << "of one that had none";
  const std::string open = "y:label,a:num/?,b:num:log/?";
  EXPECT_EQ(kind_texts(head, "", open), open);
  EXPECT_EQ(kind_texts(head, "a:num,b:num:log", "", open), open);
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
  const std::string all = "label:label,\"a,b\":num,\"\"\"c\"\"\":cat,d:e:num,d:e.1:num";
  EXPECT_EQ(text(head, ""), all);
  const std::string raw = "label:label,\"a,b\":num:raw,\"\"\"c\"\"\":cat,d:e:num:raw,d:e.1:num:raw";
  EXPECT_EQ(text(head, all), raw);
  EXPECT_EQ(text(head, raw), raw);
  EXPECT_EQ(text("1,2,x,3,4\n", raw), raw) << "a file without a header has the same columns";
}

TEST(Columns, KnownOnesAreNotGuessedAgain) {
  const Known known{"label:label,a:cat,id:-,b:num"};
  EXPECT_EQ(kinds_as_known("label,a,id,b\n1,2,9,3\n", known), "label:label0 a:cat0 id:-0 b:num1 ");
  EXPECT_EQ(kinds_as_known("b,new,a,label\n1,2,3,1\n", known), "b:num1 new:-0 a:cat0 label:label0 ")
      << "fields stay";
  EXPECT_EQ(kinds_as_known("label,a\n1,2\n", known),
            "f.csv: has no column \"b\", which the model was trained with; its columns are label, a");
  EXPECT_EQ(
      kinds_as_known("a,b\n1,2\n", known),
      "f.csv: has no column \"label\", the label that the model was trained with; --label-column can name "
      "another (its columns are a, b)");
}

TEST(Columns, ScoringNeedsNoLabel) {
  EXPECT_EQ(kinds_as_known("a,b\n1,2\n", {"w:weight,label:label,a:cat,b:num", false}), "a:cat0 b:num1 ");
  EXPECT_EQ(kinds_as_known("label,a\nx,2\n", {"label:label,a:cat", false}), "label:-0 a:cat0 ");
  EXPECT_EQ(kinds_as_known("3,2\n", {"c1:label,c2:cat,c3:num", false}), "c2:cat0 c3:num1 ");
}

TEST(Columns, AModelMayKnowAHeadersNamesWithTheirBlanks) {
  ReadOptions options;
  options.known_columns = "click:label, price :num/2, site:cat";
  options.labels_needed = false;
  for (const char* text : {"click, price , site\n1,2,a\n", "site, price\na,2\n"}) {
    const auto columns = find_columns(text, "f.csv", options);
    ASSERT_TRUE(columns) << columns.status().message();
    EXPECT_EQ(columns->list[1].salt, column_salt(" price ")) << text;
    EXPECT_EQ(columns->list[1].number.scale, 2) << text;
  }
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
