// What predict writes for each row.
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "cli/score/known_model_for_test.h"

namespace thalweg {
namespace {

class Answering : public KnownModel {
 protected:
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::istringstream text(out_);
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  }
  // A model of the columns site:cat, n:num and label.
  std::string csv_model() {
    std::string rows = "id,site,n,label\n";
    for (int i = 0; i < 50; ++i) rows += "7,a,0.5,1\n8,b,0.25,0\n";
    write_text(folder_ / "train.csv", rows);
    EXPECT_EQ(run("train --columns id:- " + (folder_ / "train.csv") + " --out " + (folder_ / "csv")), 0)
        << err_;
    return folder_ / "csv";
  }
};

TEST_F(Answering, RawScoresAreThoseBeforeTheLink) {
  ASSERT_EQ(run("predict --raw --model " + model_ + " " + rows_), 0) << err_;
  EXPECT_EQ(out_, "1\n0\n1\n-1\n");
}

TEST_F(Answering, ColumnsAreCopiedInFrontAsCsv) {
  const std::string model = csv_model(), rows = folder_ / "new.csv";
  write_text(rows, "id,site,n,label\n\"x,1\",a,0.5,\n\"say \"\"y\"\"\",b,0.25,\r\n");
  ASSERT_EQ(run("predict --model " + model + " " + rows), 0) << err_;
  const std::vector<std::string> plain = lines();
  ASSERT_EQ(plain.size(), 2u);
  EXPECT_NE(plain[0], plain[1]);
  ASSERT_EQ(run("predict --id-column id --keep n,site --model " + model + " " + rows), 0) << err_;
  EXPECT_EQ(lines(),
            (std::vector<std::string>{"\"x,1\",0.5,a," + plain[0], "\"say \"\"y\"\"\",0.25,b," + plain[1]}));
  EXPECT_EQ(run("predict --keep nothing --model " + model + " " + rows), 2);
  EXPECT_NE(err_.find("--keep: there is no column \"nothing\", its columns are id, site, n, label"),
            err_.npos)
      << err_;
  EXPECT_EQ(run("predict --id-column id --model " + model_ + " " + rows_), 2);
  EXPECT_NE(err_.find("--id-column id: the input is libsvm, expected CSV"), err_.npos) << err_;
}

TEST_F(Answering, BadRowsAreAnsweredInPlace) {
  write_text(rows_, "1 3:1\n0 5:x\n\n0 5:2\n1 3:nan\n");
  ASSERT_EQ(run("predict --raw --json --model " + model_ + " " + rows_), 0) << err_;
  EXPECT_EQ(out_.substr(0, out_.find('{')), "1\nnan\n0\nnan\n");
  EXPECT_NE(err_.find("warning: 2 bad rows were answered with nan, the first: " + rows_ + ":2:3: saw"),
            err_.npos)
      << err_;
  const auto result = nlohmann::json::parse(out_.substr(out_.find('{')));
  EXPECT_EQ(result["examples"], 4);
  EXPECT_EQ(result["bad_rows"], 2);
  EXPECT_EQ(result["skipped_rows"], 0);
  EXPECT_EQ(run("predict --on-bad-row fail --model " + model_ + " " + rows_), 4);
  ASSERT_EQ(run("predict --raw --on-bad-row skip:2 --model " + model_ + " " + rows_), 0) << err_;
  EXPECT_EQ(out_, "1\n0\n");
}

TEST_F(Answering, BadRowsOfCsvKeepTheirId) {
  const std::string model = csv_model(), rows = folder_ / "new.csv";
  write_text(rows, "id,site,n,label\n1,a,0.5,\n2,b,much,\n3\n4,b,0.25,\n");
  ASSERT_EQ(run("predict --id-column id --model " + model + " " + rows), 0) << err_;
  const std::vector<std::string> all = lines();
  ASSERT_EQ(all.size(), 4u) << out_;
  EXPECT_EQ(all[1], "2,nan");
  EXPECT_EQ(all[2], "3,nan");
  EXPECT_EQ(all[3].substr(0, 2), "4,");
}

TEST_F(Answering, AFileWithoutOneGoodRowIsAnError) {
  write_text(rows_, "1 3:1:2\n0 5:2:1\n");
  EXPECT_EQ(run("predict --format libsvm -o " + (folder_ / "scores") + " --model " + model_ + " " + rows_),
            4);
  EXPECT_NE(err_.find("none of 2 rows can be read: " + rows_ + ":1:"), err_.npos) << err_;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "scores"));
}

// Each row is asked after the answer to the one before has come.
TEST_F(Answering, APipeIsAnsweredLineByLine) {
  const auto ask = [&](const std::string& model, const std::string& head,
                       const std::vector<std::string>& rows) {
    std::string script = "cd " + in_quotes(folder_ / "") + " && rm -f ask answer && mkfifo ask answer && { " +
                         in_quotes(THALWEG_PROGRAM) + " predict --raw --model " + in_quotes(model) +
                         " - <ask >answer & exec 3>ask 4<answer; printf " + in_quotes(head) + " >&3; ";
    for (const std::string& row : rows) {
      script += "printf " + in_quotes(row + "\\n") + " >&3; read line <&4; echo \"$line\"; ";
    }
    write_text(folder_ / "script", script + "exec 3>&-; wait; }\n");
    std::FILE* pipe = popen(("timeout 60 sh " + in_quotes(folder_ / "script")).c_str(), "r");
    std::string answers;
    for (int c = 0; (c = std::fgetc(pipe)) != EOF;) answers += static_cast<char>(c);
    EXPECT_EQ(pclose(pipe), 0);
    return answers;
  };
  EXPECT_EQ(ask(model_, "", {"1 3:1", "0 5:x", "0 5:2", "# none\\n\\n1 9:1"}), "1\nnan\n0\n-1\n");
  const std::string csv = csv_model();
  const std::string answers = ask(csv, "id,site,n\\n", {"1,a,0.5", "2,b,0.25", "1,a,0.5"});
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 3) << answers;
  EXPECT_EQ(answers.substr(0, answers.find('\n')),
            answers.substr(answers.find('\n', answers.find('\n') + 1) + 1, answers.find('\n')));
}

}  // namespace
}  // namespace thalweg
