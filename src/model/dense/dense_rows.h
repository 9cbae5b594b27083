// What dense models have in common, whatever computes them: parameters as tables, rows as numbers.
#pragma once

#include <cstddef>
#include <vector>

#include "model/model.h"
#include "thalweg/dense_model.h"
#include "thalweg/options.h"
#include "thalweg/status.h"

namespace thalweg {

// `number`: of the table among the model's, so that each begins with values of its own.
TableSpec table_of(const DenseParameter& parameter, const RuleSpec& rule, std::uint64_t seed,
                   std::size_t number);

// Whether all features are among ModelSpec::inputs; see Model::validate().
Status check_inputs(const Batch& batch, const ModelSpec& spec);

// Rows [begin, end) of the batch, `width` numbers each.
void write_inputs(const LocalBatch& batch, std::size_t begin, std::size_t end, std::size_t width,
                  std::vector<float>& out);

}  // namespace thalweg
