// Where processes keep and find a secret besides the files that users name.
#pragma once

#include <string>

#include "net/socket/file_descriptor.h"
#include "net/socket/handshake.h"
#include "thalweg/secret.h"

namespace thalweg {

Handshake::Nonce draw_nonce();

// The secret that all processes of this user on this machine share where none is named: kept in
// /run/user/UID, or in a folder of /tmp where the system has none. kIo: it cannot be kept from others.
Result<Secret> secret_of_user();
// The same, in `folder`, which is made where it does not exist.
Result<Secret> secret_in(const std::string& folder);

// The secret in memory that only a descriptor leads to, closed on exec; who inherits it reads the file
// descriptor_path().
Result<FileDescriptor> secret_descriptor(const Secret& secret);
std::string descriptor_path(int fd);

}  // namespace thalweg
