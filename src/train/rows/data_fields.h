// What fields the data has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/data_set.h"
#include "thalweg/status.h"

namespace thalweg {

// One more than the largest field of the data.
Result<std::uint32_t> count_fields(const std::shared_ptr<DataSet>& data);
// The first row that has this field, for people; empty where it cannot be found again.
std::string place_of_field(DataSet& data, std::uint32_t field);

}  // namespace thalweg
