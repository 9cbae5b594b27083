// What wakes a thread that sleeps in poll().
#pragma once

#include "net/socket/file_descriptor.h"
#include "thalweg/status.h"

namespace thalweg {

// A non-blocking eventfd. kIo: the system has no descriptor for it.
Result<FileDescriptor> make_event_fd();

}  // namespace thalweg
