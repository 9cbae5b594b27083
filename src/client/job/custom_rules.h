// An application's update rules, looked up by name.
#pragma once

#include <memory>
#include <string>

#include "thalweg/job.h"

namespace thalweg {

// Null when there is none of this name.
inline std::shared_ptr<const CustomRule> find_rule(const CustomRules& rules, const std::string& name) {
  const auto found = rules.find(name);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace thalweg
