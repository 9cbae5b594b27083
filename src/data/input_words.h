// What users are told of their input files beside errors in rows.
#pragma once

#include <string>
#include <vector>

#include "data/data_set.h"
#include "thalweg/status.h"

namespace thalweg {

// A file that cannot be read is wrong input, not a failure of the system: kIo becomes kData.
Status as_input(const Status& status);

// Sentences, empty where they would not be true.
// That files were passed over since they are empty.
std::string empty_files(const std::vector<std::string>& empty);
std::string shared_files(const std::vector<std::string>& trained, const std::vector<std::string>& held_out);
// That the first line has names, where --columns says what columns are by their order.
std::string line_of_names(const DataSet& data);
// Columns that were taken for categories though their cells mean numbers, a sentence each.
std::vector<std::string> odd_columns(const DataSet& data);
// Files whose columns are matched by name; empty: there are none.
std::string reordered_files(const DataSet& data);
// A table, a line each: the columns whose kind or scale was found by looking at rows. Empty: there are none.
std::vector<std::string> column_table(const DataSet& data);
// Which features' values are divided by what.
std::string scaled_features(const DataSet& data);

}  // namespace thalweg
