// Grammar, all integers little-endian; D is who dialled, A who accepted:
//   D: greeting := magic:u32 version:u16 use:u16 nonce:16 bytes
//   A: nonce:16 bytes
//   D: proof := HMAC-SHA-256(secret, "dialler knows\0" greeting nonce)
//   A: proof := HMAC-SHA-256(secret, "acceptor knows\0" greeting nonce)
//   D: hello := size:u16 bytes HMAC-SHA-256(secret, "dialler says\0" greeting nonce size bytes)
//   A: hello := the same by "acceptor says\0", about greeting, nonce, D's hello and its own
// Challenge and response in both directions as in SKID3 (Menezes, van Oorschot, Vanstone, Handbook of Applied
// Cryptography, 10.3.2), with the parties' identities said after it instead of in it: strangers learn none.
#include "net/socket/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kGreetingMagic = 0x474c4854;  // "THLG"
constexpr std::uint16_t kHandshakeVersion = 1;
constexpr std::size_t kGreetingBytes = 8 + sizeof(Handshake::Nonce);
constexpr char kDiallerKnows[] = "dialler knows";
constexpr char kAcceptorKnows[] = "acceptor knows";
constexpr char kDiallerSays[] = "dialler says";
constexpr char kAcceptorSays[] = "acceptor says";

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

Proof proof_in(std::span<const std::byte> bytes) {
  Proof proof;
  std::memcpy(proof.data(), bytes.data(), proof.size());
  return proof;
}

}  // namespace

Handshake::Handshake(Side side, Use use, const Secret& secret, const Nonce& nonce)
    : side_(side), use_(use), secret_(secret), nonce_(nonce) {
  if (side == Side::kAcceptor) {
    expect(Next::kNonce, kGreetingBytes);
    return;
  }
  Writer greeting;
  greeting.put(kGreetingMagic).put(kHandshakeVersion).put(use);
  append(transcript_, greeting.take().span());
  append(transcript_, nonce_);
  send(transcript_);
  expect(Next::kNonce, sizeof(Nonce));
}

bool Handshake::begins(std::span<const std::byte> bytes) {
  Reader in(bytes);
  return in.get<std::uint32_t>() == kGreetingMagic && in.done();
}

void Handshake::expect(Next next, std::size_t bytes) {
  next_ = next;
  needed_ = bytes;
  in_.clear();
}

Proof Handshake::prove(std::span<const char> label) const {
  const auto words = std::as_bytes(label);  // The zero at its end keeps labels from being prefixes of others.
  std::vector<std::byte> text(words.begin(), words.end());
  append(text, transcript_);
  return hmac_sha256(secret_, text);
}

Status Handshake::refuse(std::string why) {
  expect(Next::kNothing, 0);
  out_.clear();
  return {Code::kRefused, std::move(why)};
}

void Handshake::say(std::span<const std::byte> hello) {
  THALWEG_CHECK(hello.size() <= kHelloBytesMax, "a hello is short");
  own_hello_.assign(hello.begin(), hello.end());
  if (side_ == Side::kAcceptor) {
    THALWEG_CHECK(heard_, "an acceptor answers");
    send_hello();
  }
}

Status Handshake::take(std::span<const std::byte> bytes) {
  THALWEG_CHECK(bytes.size() <= wanted(), "no byte is taken that is not the handshake's");
  append(in_, bytes);
  if (wanted() > 0) return {};
  switch (next_) {
    case Next::kNonce:
      return on_nonce();
    case Next::kProof:
      return on_proof();
    case Next::kSize:
      return on_size();
    case Next::kHello:
      return on_hello();
    case Next::kNothing:
      break;
  }
  return {};
}

Status Handshake::on_nonce() {
  if (side_ == Side::kAcceptor) {
    Reader greeting(in_);
    const auto magic = greeting.get<std::uint32_t>();
    const auto version = greeting.get<std::uint16_t>();
    const auto use = greeting.get<Use>();
    if (magic != kGreetingMagic) return refuse("it does not begin with a greeting");
    if (version != kHandshakeVersion) {
      return refuse(fmt::format("it greets by version {}, expected {}", version, kHandshakeVersion));
    }
    if (use != use_) {
      return refuse(use_ == Use::kFrames ? "it calls a group; nodes of a job are here"
                                         : "it calls a job's node; a rank of a group is here");
    }
    append(transcript_, in_);
    append(transcript_, nonce_);
    send(nonce_);
  } else {
    append(transcript_, in_);
    send(prove(kDiallerKnows));
    gave_proof_ = true;
  }
  expect(Next::kProof, sizeof(Proof));
  return {};
}

Status Handshake::on_proof() {
  const bool accepts = side_ == Side::kAcceptor;
  if (!same_proof(proof_in(in_), accepts ? prove(kDiallerKnows) : prove(kAcceptorKnows))) {
    doubted_ = true;
    return refuse("it does not know the secret");
  }
  proven_ = true;
  if (accepts) {
    send(prove(kAcceptorKnows));
    gave_proof_ = true;
  } else {
    send_hello();
  }
  expect(Next::kSize, sizeof(std::uint16_t));
  return {};
}

void Handshake::send_hello() {
  Writer size;
  size.put(static_cast<std::uint16_t>(own_hello_.size()));
  const std::size_t begin = transcript_.size();
  append(transcript_, size.take().span());
  append(transcript_, own_hello_);
  send(std::span(transcript_).subspan(begin));
  send(side_ == Side::kAcceptor ? prove(kAcceptorSays) : prove(kDiallerSays));
}

Status Handshake::on_size() {
  Reader in(in_);
  const std::size_t size = in.get<std::uint16_t>();
  if (size > kHelloBytesMax) {
    return refuse(fmt::format("its hello has {} bytes, expected at most {}", size, kHelloBytesMax));
  }
  append(transcript_, in_);
  expect(Next::kHello, size + sizeof(Proof));
  return {};
}

Status Handshake::on_hello() {
  const auto hello = std::span(in_).first(in_.size() - sizeof(Proof));
  append(transcript_, hello);
  const bool accepts = side_ == Side::kAcceptor;
  if (!same_proof(proof_in(std::span(in_).last(sizeof(Proof))),
                  accepts ? prove(kDiallerSays) : prove(kAcceptorSays))) {
    doubted_ = true;
    return refuse("its hello is not what one who knows the secret has said");
  }
  hello_.assign(hello.begin(), hello.end());
  heard_ = true;
  expect(Next::kNothing, 0);
  return {};
}

}  // namespace thalweg
