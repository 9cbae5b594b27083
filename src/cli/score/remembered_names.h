// names.tsv in a model's directory: what its features are called, where the training was asked to remember
// it.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "cli/options/options.h"
#include "model/format/model_dir.h"
#include "thalweg/ids.h"
#include "thalweg/status.h"

namespace thalweg {

// Of the `most` largest weights, by another pass over the options' files, which are those that it learnt
// from.
Status remember_names(const Options& options, const std::string& directory, std::size_t most);
// None where there is no such file. kModel for one that is damaged or of another model.
Result<std::unordered_map<Key, std::string>> remembered_names(const ModelReader& model);
// What another model had, for the one in `directory`: names of the rows that it has.
Status keep_names(const std::unordered_map<Key, std::string>& names, const std::string& directory);

}  // namespace thalweg
