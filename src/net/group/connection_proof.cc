// Grammar: C is who calls, A who accepts; opening is group_message.cc's.
//   C: opening HMAC-SHA-256(secret, "opens a connection\0" opening)
//   A: HMAC-SHA-256(secret, "takes a connection\0" opening), before its first bytes
// An opening names its connection by a number that is drawn, so that A takes each once and its answer is to
// this one.
#include "net/group/connection_proof.h"

#include <cstring>

namespace thalweg {
namespace {

constexpr char kOpens[] = "opens a connection";
constexpr char kTakes[] = "takes a connection";

// The zero at a label's end keeps it from being a prefix of others, the handshake's among them.
Proof prove(const Secret& secret, std::span<const char> label, std::span<const std::byte> opening) {
  const auto words = std::as_bytes(label);
  std::vector<std::byte> text(words.begin(), words.end());
  text.insert(text.end(), opening.begin(), opening.end());
  return hmac_sha256(secret, text);
}

}  // namespace

std::vector<std::byte> prove_opening(const Secret& secret, const Opening& opening) {
  const Bytes head = encode_opening(opening);
  const Proof proof = prove(secret, kOpens, head.span());
  std::vector<std::byte> all(head.span().begin(), head.span().end());
  all.insert(all.end(), proof.begin(), proof.end());
  return all;
}

bool is_proven_opening(const Secret& secret, std::span<const std::byte> said) {
  Proof proof;
  std::memcpy(proof.data(), said.data() + Opening::kBytes, proof.size());
  return same_proof(proof, prove(secret, kOpens, said.first(Opening::kBytes)));
}

Proof answer_to(const Secret& secret, const Opening& opening) {
  return prove(secret, kTakes, encode_opening(opening).span());
}

}  // namespace thalweg
