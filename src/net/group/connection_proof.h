// How both ends of a connection between ranks that have joined show that they know the group's secret without
// waiting for each other: who calls says what for and proves it, in one piece; who is called proves itself
// before the first bytes that it says there. docs/adr/0031 says what that keeps out and what it does not.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "net/group/group_message.h"
#include "net/socket/file_descriptor.h"
#include "net/socket/hmac.h"
#include "thalweg/secret.h"

namespace thalweg {

// A connection whose opening has been said, or heard.
struct RankConnection {
  explicit operator bool() const { return bool{socket}; }

  FileDescriptor socket;
  bool was_called = false;  // This end was; it owes the proof that the other end awaits.
  Proof answer{};
};

inline constexpr std::size_t kProvenOpeningBytes = Opening::kBytes + sizeof(Proof);

// Of one connection, which `opening.call` must not name anew.
std::vector<std::byte> prove_opening(const Secret& secret, const Opening& opening);
// Whether who said it knows the secret. Precondition: kProvenOpeningBytes bytes.
bool is_proven_opening(const Secret& secret, std::span<const std::byte> said);
// What who was called says first.
Proof answer_to(const Secret& secret, const Opening& opening);

}  // namespace thalweg
