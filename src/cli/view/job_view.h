// A live job as those see it who ask its scheduler, in JSON and in lines for people. docs/cli.md has the
// fields.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "thalweg/drain.h"
#include "thalweg/job_status.h"

namespace thalweg {

nlohmann::ordered_json failovers_json(const std::vector<ServerFailover>& failovers);
nlohmann::ordered_json status_json(const JobStatus& status);
std::string status_text(const JobStatus& status);
nlohmann::ordered_json drain_json(const ServerDrain& drain);
std::string drain_text(const ServerDrain& drain);
nlohmann::ordered_json events_json(const JobStatus& status);
std::string events_text(const JobStatus& status);

}  // namespace thalweg
