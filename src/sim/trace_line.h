// Lines of a run's trace, for people.
#pragma once

#include <string>
#include <string_view>

#include "base/frame.h"
#include "base/instant.h"
#include "sim/network.h"

namespace thalweg::sim {

std::string who(NodeId id);
// The operation, and of its header and content what matters to it.
std::string summary(const Frame& frame);
// A frame that its receiver is about to handle.
std::string arrival_line(Instant now, NodeId from, NodeId to, const Frame& frame);
// A frame that will never be there.
std::string loss_line(Instant now, NodeId from, NodeId to, const Frame& frame, Fate fate);
std::string note_line(Instant now, std::string_view what);

}  // namespace thalweg::sim
