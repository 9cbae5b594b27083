// What dense models cannot be asked is refused before anything is done.
#include <gtest/gtest.h>

#include <string>

#include "base/temporary_folder_for_test.h"
#include "cli/run_for_test.h"

namespace thalweg {
namespace {

class RefusedDense : public testing::Test {
 protected:
  std::string rows() const { return folder_.write("rows.svm", "1 1:1 2:1\n0 2:1 3:1\n1 1:1\n0 3:1\n"); }
  const TemporaryFolder folder_;
};

TEST_F(RefusedDense, RowsOfOtherInputsAreNotToBeHashedForAModelThatIsThere) {
  const std::string model = folder_ / "model";
  ASSERT_EQ(run("train --model softmax --inputs 8 --epochs 1 --out " + model + " " + rows()).code, 0);
  const Ran ran = run("train --init " + model + " " + folder_.write("far.svm", "1 91:1\n0 123456789:1\n"));
  EXPECT_EQ(ran.code, 4) << ran.err;
  EXPECT_NE(ran.err.find("a model that --init goes on with keeps the inputs that it has"), std::string::npos)
      << ran.err;
}

// Two layers of 100,000 are 10^10 weights, and nothing of them is made.
TEST_F(RefusedDense, LayersThatDoNotFitAreRefusedWhenPlanned) {
  const std::string model = "train --model deepfm --hidden 100000,100000 ";
  const Ran ran = run(model + "--memory 100M " + rows());
  EXPECT_EQ(ran.code, 4) << ran.err;
  for (const char* part : {"model deepfm has 1000", "in dense tables: with optimizer state they take",
                           "tables may take 100000000 bytes", "hint: lower --hidden", "--memory"})
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  const Ran tight = run("train --model deepfm --hidden 100,100 --data-shards 64 --memory 1M " + rows());
  EXPECT_EQ(tight.code, 4) << tight.err;
  EXPECT_NE(tight.err.find("gradients of 64 data shards take"), std::string::npos) << tight.err;
}

}  // namespace
}  // namespace thalweg
