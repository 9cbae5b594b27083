// Cost of a batch's forward and gradient: 1,024 rows of 39 entries, rows already pulled.
#include <benchmark/benchmark.h>

#include <vector>

#include "base/random.h"
#include "bench/click_batch.h"
#include "model/model.h"

namespace thalweg {
namespace {

void gradient(benchmark::State& state, const char* name, std::uint32_t rank) {
  Random random(1);
  Batch batch = click_batch(1024, random);
  for (std::size_t e = 0; e < batch.entries(); ++e)
    batch.fields.push_back(static_cast<std::uint32_t>(e % 39));
  LocalBatch local;
  KeyIndex index;
  local.assign(batch, index);
  ModelSpec spec;
  spec.name = name, spec.rank = rank, spec.fields = 39;
  std::unique_ptr<Model> model = *make_model(spec);
  std::vector<std::vector<float>> rows, grads;
  for (const TableSpec& table : model->tables()) {
    rows.emplace_back((table.rows > 0 ? table.rows : local.keys().size()) * table.dim, 0.01f);
    grads.emplace_back(rows.back().size());
  }
  const std::vector<std::span<const float>> row_spans(rows.begin(), rows.end());
  const std::vector<std::span<float>> grad_spans(grads.begin(), grads.end());
  std::vector<float> scores(local.size());
  for (auto _ : state) benchmark::DoNotOptimize(model->gradient(local, row_spans, scores, grad_spans));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(local.size()));
}
BENCHMARK_CAPTURE(gradient, lr, "lr", 1);
BENCHMARK_CAPTURE(gradient, fm_4, "fm", 4);
BENCHMARK_CAPTURE(gradient, fm_8, "fm", 8);
BENCHMARK_CAPTURE(gradient, fm_16, "fm", 16);
BENCHMARK_CAPTURE(gradient, fm_10, "fm", 10);
BENCHMARK_CAPTURE(gradient, ffm_4, "ffm", 4);

}  // namespace
}  // namespace thalweg

BENCHMARK_MAIN();
