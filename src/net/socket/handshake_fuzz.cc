// Whatever the other end says, at either end, in whatever pieces, and also where one who knows the secret has
// begun: a stranger is never heard, and told nothing but a challenge or the proof that answers its own.
#include <algorithm>
#include <span>
#include <vector>

#include "base/check.h"
#include "net/socket/handshake.h"
#include "node/fuzz_input.h"

namespace {

using namespace thalweg;

constexpr std::size_t kGreeting = 24;

Handshake start(Handshake::Side side) {
  Secret secret;
  secret.bytes.fill(std::byte{0x5a});
  Handshake handshake(side, Handshake::Use::kFrames, secret, Handshake::Nonce{});
  if (side == Handshake::Side::kDialler) handshake.say(std::vector<std::byte>(100));
  return handshake;
}

// Until both know that the other knows the secret; nobody has said who it is.
void prove_both(Handshake& a, Handshake& b) {
  while (!a.proven()) {
    const auto to_a = b.take_output(), to_b = a.take_output();
    THALWEG_CHECK(a.take(std::span(to_a).first(std::min(to_a.size(), a.wanted()))).ok(),
                  "an honest end is taken");
    if (!to_b.empty()) THALWEG_CHECK(b.take(to_b).ok(), "an honest end is taken");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  const bool accepts = input.byte() % 2 == 0;
  Handshake handshake = start(accepts ? Handshake::Side::kAcceptor : Handshake::Side::kDialler);
  const bool known = input.byte() % 2 == 1;
  if (known) {
    Handshake honest = start(accepts ? Handshake::Side::kDialler : Handshake::Side::kAcceptor);
    prove_both(handshake, honest);
  }
  std::size_t told = handshake.take_output().size();
  while (handshake.wanted() > 0 && !input.empty()) {
    const std::size_t most = std::min<std::size_t>(handshake.wanted(), std::size_t{input.byte()} + 1);
    std::vector<std::byte> bytes;
    while (bytes.size() < most && !input.empty()) bytes.push_back(std::byte{input.byte()});
    const Status status = handshake.take(bytes);
    told += handshake.take_output().size();
    THALWEG_CHECK(status.ok() || handshake.wanted() == 0, "who is refused is refused for good");
  }
  THALWEG_CHECK(!handshake.heard(), "no hello is made without the secret");
  if (known) return 0;
  THALWEG_CHECK(!handshake.proven(), "a stranger proves nothing");
  THALWEG_CHECK(told <= (accepts ? sizeof(Handshake::Nonce) : kGreeting + sizeof(Proof)),
                "nor is it told more");
  return 0;
}
