// The handshake: two ends that know the secret hear each other, and nobody else is heard or told anything.
#include "net/socket/handshake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg {
namespace {

using Bits = std::vector<std::byte>;
using Side = Handshake::Side;
using Use = Handshake::Use;

Secret secret_of(std::uint8_t byte) {
  Secret secret;
  secret.bytes.fill(std::byte{byte});
  return secret;
}

Handshake::Nonce nonce_of(std::uint8_t byte) {
  Handshake::Nonce nonce;
  nonce.fill(std::byte{byte});
  return nonce;
}

std::span<const std::byte> words(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string text_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += static_cast<char>(byte);
  return text;
}

// Hands over as much as is wanted, piece by piece; the rest is what follows the handshake.
Status give(Handshake& to, Bits& stream, std::size_t piece = 1000) {
  while (!stream.empty() && to.wanted() > 0) {
    const std::size_t size = std::min({piece, to.wanted(), stream.size()});
    const Status status = to.take(std::span(stream).first(size));
    stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(size));
    if (!status.ok()) return status;
  }
  return {};
}

struct Pair {
  explicit Pair(std::uint8_t theirs = 7, std::uint8_t ours = 7)
      : dialler(Side::kDialler, Use::kFrames, secret_of(theirs), nonce_of(1)),
        acceptor(Side::kAcceptor, Use::kFrames, secret_of(ours), nonce_of(2)) {
    dialler.say(words("it is me"));
  }
  // Goes on until nobody has anything to say; what each has said.
  Status run(std::size_t piece = 1000) {
    for (;;) {
      Bits to_acceptor = dialler.take_output(), to_dialler = acceptor.take_output();
      if (to_acceptor.empty() && to_dialler.empty()) return {};
      said_by_dialler.push_back(to_acceptor);
      said_by_acceptor.push_back(to_dialler);
      if (Status status = give(acceptor, to_acceptor, piece); !status.ok()) return status;
      if (Status status = give(dialler, to_dialler, piece); !status.ok()) return status;
      if (acceptor.heard() && !std::exchange(answered, true)) acceptor.say(words("and me"));
    }
  }
  bool answered = false;
  Handshake dialler, acceptor;
  std::vector<Bits> said_by_dialler, said_by_acceptor;
};

TEST(Handshake, BothHearWhatTheOtherSaid) {
  for (const std::size_t piece : {1U, 5U, 1000U}) {
    Pair pair;
    ASSERT_TRUE(pair.run(piece).ok());
    EXPECT_TRUE(pair.dialler.proven() && pair.acceptor.proven());
    EXPECT_EQ(text_of(pair.acceptor.hello()), "it is me");
    EXPECT_EQ(text_of(pair.dialler.hello()), "and me");
    EXPECT_EQ(pair.dialler.wanted() + pair.acceptor.wanted(), 0U);
  }
}

// As Python computes it: hmac.new(bytes([11]) * 16, b"Hi There", "sha256").
TEST(Handshake, ProofsAreWhatOthersCompute) {
  const Proof proof = hmac_sha256(secret_of(0x0b), words("Hi There"));
  std::string hex;
  for (const std::byte byte : proof) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    hex += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  EXPECT_EQ(hex, "492ce020fe2534a5789dc3848806c78f4f6711397f08e7e7a12ca5a4483c8aa6");
}

TEST(Handshake, WhoDoesNotKnowTheSecretIsToldAChallengeAndNothingElse) {
  Pair pair(8, 7);
  const Status status = pair.run();
  EXPECT_EQ(status.code(), Code::kRefused);
  EXPECT_EQ(status.message(), "it does not know the secret");
  EXPECT_FALSE(pair.acceptor.proven());
  Bits told;
  for (const Bits& said : pair.said_by_acceptor) told.insert(told.end(), said.begin(), said.end());
  const auto nonce = nonce_of(2);
  EXPECT_TRUE(std::ranges::equal(told, nonce));
  EXPECT_TRUE(pair.acceptor.take_output().empty());
  EXPECT_EQ(pair.acceptor.wanted(), 0U);
}

// A stranger that is dialled, and says what it likes, is not told who dials.
TEST(Handshake, TheDiallerSaysWhoItIsOnlyToWhoHasProvenItself) {
  Handshake dialler(Side::kDialler, Use::kFrames, secret_of(7), nonce_of(1));
  dialler.say(words("it is me"));
  Bits told = dialler.take_output();
  EXPECT_TRUE(dialler.take(nonce_of(9)).ok());
  const Bits proof = dialler.take_output();
  EXPECT_EQ(proof.size(), sizeof(Proof));
  told.insert(told.end(), proof.begin(), proof.end());
  EXPECT_EQ(dialler.take(proof).code(), Code::kRefused);  // Its own, reflected.
  EXPECT_TRUE(dialler.take_output().empty());
  EXPECT_EQ(text_of(told).find("it is me"), std::string::npos);
}

TEST(Handshake, WhatWasRecordedIsWorthNothingToAnotherAcceptor) {
  Pair pair;
  ASSERT_TRUE(pair.run().ok());
  Handshake acceptor(Side::kAcceptor, Use::kFrames, secret_of(7), nonce_of(3));
  Status status;
  for (Bits said : pair.said_by_dialler) {
    if (status.ok()) status = give(acceptor, said);
  }
  EXPECT_EQ(status.message(), "it does not know the secret");
}

TEST(Handshake, WhatWasRecordedIsWorthNothingToAnotherDialler) {
  Pair pair;
  ASSERT_TRUE(pair.run().ok());
  Handshake dialler(Side::kDialler, Use::kFrames, secret_of(7), nonce_of(4));
  dialler.say(words("it is me"));
  Status status;
  for (Bits said : pair.said_by_acceptor) {
    if (status.ok()) status = give(dialler, said);
  }
  EXPECT_EQ(status.message(), "it does not know the secret");
}

// A stranger that has an acceptor's challenge answered by a dialler of its own has to let both speak, since
// what one side proves is no proof of the other's.
TEST(Handshake, AnAcceptorsProofIsNoDiallers) {
  Handshake first(Side::kAcceptor, Use::kFrames, secret_of(7), nonce_of(2));
  Handshake second(Side::kAcceptor, Use::kFrames, secret_of(7), nonce_of(2));
  Pair pair;
  Bits greeting = pair.dialler.take_output();
  Bits again = greeting;
  ASSERT_TRUE(give(first, greeting).ok());
  ASSERT_TRUE(give(second, again).ok());
  ASSERT_TRUE(pair.dialler.take(first.take_output()).ok());
  Bits proof = pair.dialler.take_output();
  ASSERT_TRUE(give(first, proof).ok());
  EXPECT_EQ(second.take(first.take_output()).code(), Code::kRefused);
}

TEST(Handshake, EveryChangedBitIsNoticed) {
  Pair whole;
  ASSERT_TRUE(whole.run().ok());
  std::size_t bits = 0;
  for (const Bits& said : whole.said_by_dialler) bits += 8 * said.size();
  for (std::size_t changed = 0; changed < bits; ++changed) {
    Pair pair;
    Status status;
    std::size_t begin = 0;  // Of what the dialler says next, in bits.
    while (status.ok() && !pair.acceptor.heard()) {
      Bits said = pair.dialler.take_output();
      if (said.empty()) break;  // The acceptor waits for a longer hello than there is.
      if (changed >= begin && changed - begin < 8 * said.size()) {
        said[(changed - begin) / 8] ^= static_cast<std::byte>(1U << (changed % 8));
      }
      begin += 8 * said.size();
      status = give(pair.acceptor, said);
      Bits answer = pair.acceptor.take_output();
      if (status.ok() && !give(pair.dialler, answer).ok()) break;  // The dialler has noticed.
    }
    EXPECT_FALSE(pair.acceptor.heard()) << "bit " << changed;
  }
}

TEST(Handshake, ConnectionsOfAnotherUseAreRefused) {
  Handshake dialler(Side::kDialler, Use::kGroup, secret_of(7), nonce_of(1));
  Handshake acceptor(Side::kAcceptor, Use::kFrames, secret_of(7), nonce_of(2));
  Bits greeting = dialler.take_output();
  EXPECT_EQ(give(acceptor, greeting).message(), "it calls a group; nodes of a job are here");
}

}  // namespace
}  // namespace thalweg
