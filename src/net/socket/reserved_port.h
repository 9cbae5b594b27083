// A free TCP port for a process that has yet to listen, or to accept, on it.
#pragma once

#include <cstdint>
#include <utility>

#include "net/socket/file_descriptor.h"
#include "thalweg/status.h"

namespace thalweg {

// While it lives the kernel gives its port to nobody who asks for any port, to listen on or to call from;
// who names it and sets SO_REUSEADDR, as our listeners do, can listen on it.
class ReservedPort {
 public:
  static Result<ReservedPort> reserve();

  std::uint16_t number() const { return number_; }
  // Closed on exec; a process that is handed it keeps the port as well.
  int descriptor() const { return socket_.get(); }

 private:
  ReservedPort(FileDescriptor socket, std::uint16_t number) : socket_(std::move(socket)), number_(number) {}

  FileDescriptor socket_;  // Bound, and never listening: calls are refused until somebody else listens.
  std::uint16_t number_;
};

// A free port of 127.0.0.1 that already listens: nobody else can, and calls wait for who is handed `socket`,
// which is closed on exec and numbered 64 or above.
struct HeldPort {
  FileDescriptor socket;
  std::uint16_t number = 0;
};
Result<HeldPort> hold_port();

}  // namespace thalweg
