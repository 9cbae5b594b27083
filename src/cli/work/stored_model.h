// Models as commands take them: by directory, with the input options that they were trained with.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/options/options.h"
#include "data/data_set.h"
#include "data/read_options.h"
#include "model/format/model_dir.h"

namespace thalweg {

// A model that cannot be read is a bad model, not a failure of the system: kIo becomes kModel.
Status as_model(const Status& status);
Result<ModelReader> open_model(const std::string& path);

// What a command that trains stores in model.json: flag to value, for every option about input, model,
// training and cluster that has one.
std::map<std::string, std::string> options_to_store(const Options& options, std::string_view command);

// How to read rows for a model: hashing and columns as in training unless they are given again; kUsage when
// hashing is given otherwise.
Result<ReadOptions> read_options_for(const Manifest& manifest, const Options& options);
// kUsage where options have made another feature of a column than the model knows it as.
Status check_given_columns(const Manifest& manifest, const Options& options, const DataSet& data);

}  // namespace thalweg
