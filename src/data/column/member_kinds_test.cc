#include "data/column/member_kinds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/temporary_folder_for_test.h"
#include "data/data_set.h"
#include "data/reader/json_members.h"

namespace thalweg {
namespace {

MemberKinds kinds_by(const std::string& columns) {
  ReadOptions options;
  options.columns = columns;
  const auto kinds = MemberKinds::of(options);
  EXPECT_TRUE(kinds) << kinds.status().message();
  return *kinds;
}

TEST(MemberKinds, AnOwnNameGoesBeforeAPattern) {
  const MemberKinds kinds = kinds_by("*_id:cat,ad_id:-,n:num:log");
  EXPECT_EQ(kinds.find("user_id")->kind, Column::Kind::kCategorical);
  EXPECT_EQ(kinds.find("ad_id")->kind, Column::Kind::kIgnored);
  EXPECT_EQ(kinds.find("n")->number.shape, NumberForm::Shape::kLog);
  EXPECT_EQ(kinds.find("m"), nullptr);
  EXPECT_FALSE(kinds.leaves_others_out());
  EXPECT_EQ(kinds.names(), (std::vector<std::string>{"ad_id", "n"}));
}

TEST(MemberKinds, TheirTextSaysTheSameAgain) {
  const std::string text = "\"a,b\":num:raw,hits:num:bucket,price:num-10/2,\"x*\":num/3.5,*_id:cat";
  EXPECT_EQ(kinds_by(text).text(), text);
  EXPECT_EQ(kinds_by(text + ",won:label,n:weight").text(), text);
  EXPECT_EQ(kinds_by(text).text(true), "\"a,b\":-,hits:-,price:-,\"x*\":-,*_id:cat");
  EXPECT_TRUE(says_known_of_members("b:cat,won:label", "a:-,b:cat"));
  EXPECT_FALSE(says_known_of_members("a:-,b:cat", "b:cat"));
  EXPECT_FALSE(says_known_of_members("b:cat", "b:num"));
}

TEST(MemberKinds, AModelOfCsvSpeaksOfAllColumns) {
  EXPECT_TRUE(says_all_columns("a:cat,y:label"));
  EXPECT_FALSE(says_all_columns("a:cat"));
  EXPECT_FALSE(says_all_columns(""));
}

TEST(MemberKinds, WhatNoMembersCanBeIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"label,num*3", "expected NAME:KIND"},
      {"a:num*2", "expected NAME:KIND"},
      {"a..b:cat", "is no range"},
      {"c*:label", "cannot be the label"},
      {"a:label,b:label", "\"a\" and \"b\" are both the label"},
      {"a:word", "expected [NAME:]KIND"}};
  const TemporaryFolder folder;
  for (const auto& [columns, expected] : cases) {
    ReadOptions options;
    options.columns = columns;
    options.paths = {folder.write("a.jsonl", "{\"a\":1,\"label\":1}\n")};
    const auto data = DataSet::open(options);
    ASSERT_FALSE(data) << columns;
    EXPECT_EQ(data.status().code(), Code::kUsage);
    EXPECT_NE(data.status().message().find(expected), std::string::npos) << data.status().message();
  }
}

TEST(MemberKinds, ScalesThatAreToldStayAndAbsentMembersAreNamed) {
  const TemporaryFolder folder;
  std::string lines;
  for (int row = 0; row < 20; ++row)
    lines += "{\"label\":1,\"price\":400,\"other\":400,\"user_id\":7,\"item_id\":8}\n";
  ReadOptions options;
  options.columns = "price:num:raw,user_id:cat,usr:cat";
  options.paths = {folder.write("a.jsonl", lines)};
  options.choose_value_scales = options.look_at_labels = true;
  const auto data = DataSet::open(options);
  ASSERT_TRUE(data) << data.status().message();
  EXPECT_EQ((*data)->format().name, "jsonl");
  EXPECT_EQ((*data)->absent_members(), std::vector<std::string>{"usr"});
  auto reader = (*data)->reader(ShardId{0}, 1);
  Batch batch;
  ASSERT_TRUE((*reader)->next(1, batch));
  EXPECT_EQ(batch.values, (std::vector<float>{400, 1, 1, 8}));
}

TEST(MemberKinds, WhatIsLeftOutIsNotToldOfAndAToldLabelIsOneEverywhere) {
  const TemporaryFolder folder;
  std::string lines;
  for (int row = 0; row < 20; ++row)
    lines += "{\"won\":1,\"click\":0,\"user\":{\"id\":7},\"ts\":1700000000}\n";
  ReadOptions options;
  options.columns = "won:label,user:-,click:cat";
  options.paths = {folder.write("a.jsonl", lines)};
  options.choose_value_scales = options.look_at_labels = true;
  const auto data = DataSet::open(options);
  ASSERT_TRUE(data) << data.status().message();
  EXPECT_EQ((*data)->absent_members(), std::vector<std::string>());
  EXPECT_NE((*data)->value_scales().find("/1700000000"), std::string::npos) << (*data)->value_scales();
}

// Members are what columns of CSV with the same rows are.
TEST(MemberKinds, NothingThatIsSaidIsGuessedAsColumnsAre) {
  const TemporaryFolder folder;
  std::string lines = "\n", csv = "label,user_id,year,visits,request,pro,level,told\n";
  for (std::uint32_t row = 0; row < 1000; ++row) {
    const std::uint32_t user = row * 7919 % 300, level = row * 31 % 7;
    const std::uint32_t label = level % 2, year = 2000 + row % 20, visits = row * row % 900;
    const auto add = [&](const char* form, std::string& to) {
      to += fmt::format(fmt::runtime(form), label, user, year, visits, row * 2654435761u, row % 3 == 0, level,
                        user);
    };
    add("{{\"label\":{},\"user_id\":{},\"year\":{},\"visits\":{},\"request\":\"r{}\",\"pro\":{},\"level\":{},"
        "\"told\":{}}}\n",
        lines);
    add("{},{},{},{},r{},{},{},{}\n", csv);
  }
  ReadOptions options;
  options.paths = {folder.write("a.jsonl", lines)};
  options.columns = "told:num";
  options.guess_members = true;
  const auto data = DataSet::open(options);
  ASSERT_TRUE(data) << data.status().message();
  options.paths = {folder.write("a.csv", csv)};
  const auto same = DataSet::open(options);
  ASSERT_TRUE(same) << same.status().message();
  const std::vector<Column>&members = (*data)->members().list, &columns = (*same)->columns().list;
  ASSERT_EQ(members.size(), columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    EXPECT_EQ(members[c].name, columns[c].name);
    EXPECT_EQ(members[c].kind, columns[c].kind) << columns[c].name;
    EXPECT_EQ(members[c].facts.why, columns[c].facts.why) << columns[c].name;
    EXPECT_EQ(members[c].facts.distinct, columns[c].facts.distinct) << columns[c].name;
    EXPECT_EQ(members[c].facts.missing, 0u) << columns[c].name;
  }
  EXPECT_EQ((*data)->options().columns, "told:num,user_id:cat,year:cat,request:-,level:cat");
}

TEST(MemberKinds, WhatIsNotOfOneKindOrStandsInArraysIsNotGuessedToBeANumber) {
  const TemporaryFolder folder;
  std::string lines;
  for (std::uint32_t row = 0; row < 400; ++row)
    lines += fmt::format(
        "{{\"y\":{},\"tags\":[{},2],\"mixed\":{},\"u\":{{\"id\":{},\"a,b_id\":8}},\"no\":null}}\n", row % 2,
        row, row % 5 == 0 ? "\"none\"" : "7.5", row % 40);
  ReadOptions options;
  options.paths = {folder.write("a.jsonl", lines)};
  options.guess_members = true;
  const auto data = DataSet::open(options);
  ASSERT_TRUE(data) << data.status().message();
  EXPECT_EQ((*data)->options().columns, "mixed:cat,u.id:cat,\"u.a,b_id\":cat");
  options.columns = "u:-,y:-,mixed:label";
  const auto other = DataSet::open(options);
  ASSERT_TRUE(other) << other.status().message();
  EXPECT_EQ((*other)->options().columns, options.columns);
}

TEST(JsonMembers, AreFoundByTheirPaths) {
  const std::string line =
      R"({"id": "a\"b", "n":1.50 ,"no":null,"user":{"id":7,"tags":[{"id":9},"x"]},"t":true,"id2":"z"} )"
      "\n";
  const std::vector<std::string> names = {"user.id", "id", "n", "no", "t", "user.tags", "none", "id2"};
  std::vector<std::string> texts(names.size(), "old");
  find_json_members(line, names, texts);
  EXPECT_EQ(texts, (std::vector<std::string>{"7", "a\"b", "1.50", "", "true", "", "", "z"}));
  find_json_members("{\"id\":\"a\",\"n\" 3\n", names, texts);
  EXPECT_EQ(texts[1], "a");
  find_json_members("no object\n", names, texts);
  EXPECT_EQ(texts[1], "");
}

}  // namespace
}  // namespace thalweg
