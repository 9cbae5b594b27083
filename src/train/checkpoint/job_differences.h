// In which settings two trainings differ, by the flags that say them.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace thalweg {

// Of two jobs as to_text(TrainSpec) has them: "--batch is 512, there 256; ...", one for each flag, and a
// setting without a flag by its place in the job. What follows from another difference is left out. Empty:
// none differs.
std::string job_differences(const nlohmann::json& there, const nlohmann::json& here);

}  // namespace thalweg
