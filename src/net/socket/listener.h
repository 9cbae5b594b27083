// The one way in, for frames and for groups: a socket that listens. Who has it keeps a loop of its own and
// watches fd(). What a Call holds is what a TLS stream would wrap, between accept() and the Handshake that
// both ends begin with: see docs/adr/0041.
#pragma once

#include <optional>
#include <utility>

#include "net/socket/address.h"
#include "net/socket/file_descriptor.h"
#include "thalweg/status.h"

namespace thalweg {

struct ListenOptions {
  bool insecure_no_auth = false;  // Other machines may reach it, although nothing is encrypted.
  int buffer_bytes = 0;           // Of the kernel's for each connection and direction; 0: as it has them.
};

class Listener {
 public:
  struct Call {
    FileDescriptor socket;  // Non-blocking and tuned.
    SocketAddress remote;
  };

  // At an address, port 0 being any, or at an abstract name. kUsage when other machines could reach it and
  // the options do not accept that; kIo, which says who holds the port.
  static Result<Listener> open(const SocketAddress& address, const ListenOptions& options = {});
  // One that listens already, opened by who started this process. kUsage, kIo: it is none, or as open().
  static Result<Listener> adopt(FileDescriptor socket, const ListenOptions& options = {});

  int fd() const { return socket_.get(); }
  const SocketAddress& address() const { return address_; }

  // The next caller; none when nobody calls. kIo: somebody does, and this process has no descriptors left.
  Result<std::optional<Call>> accept();
  // Then: the next caller by the descriptor that is kept in reserve, to be told or to be closed. None when
  // that is taken already: it is back when it, or another, is free by the next accept().
  std::optional<Call> accept_by_reserve();

 private:
  explicit Listener(FileDescriptor socket, int buffer_bytes);
  std::optional<Call> accept_once();

  FileDescriptor socket_;
  SocketAddress address_;
  int buffer_bytes_;
  FileDescriptor reserve_;
};

}  // namespace thalweg
