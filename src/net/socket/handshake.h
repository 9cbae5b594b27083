// How both ends of a connection prove to each other that they know the secret, and then say who they are. One
// machine for every port: bytes in, bytes out. handshake.cc has the messages, docs/adr/0031 the reasons.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/socket/hmac.h"
#include "thalweg/secret.h"
#include "thalweg/status.h"

namespace thalweg {

class Handshake {
 public:
  enum class Side : std::uint8_t { kDialler, kAcceptor };
  // What the connection is for; the ends must agree.
  enum class Use : std::uint16_t { kFrames = 1, kGroup = 2 };
  using Nonce = std::array<std::byte, 16>;  // Drawn anew for each connection.
  static constexpr std::size_t kHelloBytesMax = 8192;

  // Whether these are the first four bytes that a dialler says.
  static bool begins(std::span<const std::byte> bytes);

  Handshake(Side side, Use use, const Secret& secret, const Nonce& nonce);

  // Gives this end's hello, once, which is sent when the other end has proven itself: a dialler's before it
  // takes any bytes, an acceptor's when it has heard the dialler's. Precondition: at most kHelloBytesMax
  // bytes.
  void say(std::span<const std::byte> hello);
  // How many more bytes of the stream it takes now; what follows the handshake is never among them. 0 when it
  // waits for say() or is over.
  std::size_t wanted() const { return needed_ - in_.size(); }
  // Precondition: at most wanted() bytes. kRefused: why the other end is not heard; then it is over for good.
  Status take(std::span<const std::byte> bytes);
  // What is to be sent now.
  std::vector<std::byte> take_output() { return std::exchange(out_, {}); }

  // Whether the other end has proven that it knows the secret.
  bool proven() const { return proven_; }
  // Whether this end has given its own proof.
  bool has_proven_itself() const { return gave_proof_; }
  // Whether what it gave as a proof is none.
  bool doubted() const { return doubted_; }
  // Whether the other end's hello is there, and is what who knows the secret has said.
  bool heard() const { return heard_; }
  std::span<const std::byte> hello() const { return hello_; }

 private:
  enum class Next : std::uint8_t { kNonce, kProof, kSize, kHello, kNothing };
  Proof prove(std::span<const char> label) const;
  void expect(Next next, std::size_t bytes);
  void send(std::span<const std::byte> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  Status refuse(std::string why);
  void send_hello();
  Status on_nonce();
  Status on_proof();
  Status on_size();
  Status on_hello();

  Side side_;
  Use use_;
  Secret secret_;
  Nonce nonce_;
  Next next_ = Next::kNonce;
  std::size_t needed_ = 0;
  std::vector<std::byte> in_;  // Of the message that is awaited.
  std::vector<std::byte> out_;
  std::vector<std::byte> transcript_;  // What proofs are about: all that was said before.
  std::vector<std::byte> own_hello_;
  std::vector<std::byte> hello_;
  bool proven_ = false;
  bool gave_proof_ = false;
  bool doubted_ = false;
  bool heard_ = false;
};

}  // namespace thalweg
