// Zhu et al. 2017, "Optimized Cost per Click in Taobao Display Advertising": the AUC of each
// group, averaged by its number of rows.
#include "model/metric/group_metric.h"
#include "model/metric/pair_sum.h"

namespace thalweg {
namespace {

double auc_of_group(std::span<const GroupRow> rows, std::size_t) {
  PairSum pairs;
  for (std::size_t i = rows.size(); i > 0;) {
    const float score = rows[i - 1].score;
    double group[2] = {0, 0};
    for (; i > 0 && rows[i - 1].score == score; --i) {
      group[rows[i - 1].label > 0 ? 1 : 0] += static_cast<double>(rows[i - 1].weight);
    }
    pairs.add_group(group[1], group[0]);
  }
  return pairs.value();
}

}  // namespace

extern constinit const GroupMetric kGroupAuc = {
    .name = "group_auc",
    .summary = "AUC of each group, the mean by weight of those with both labels",
    .by_weight = true,
    .of = auc_of_group,
};

}  // namespace thalweg
