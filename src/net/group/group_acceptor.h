// Where a rank is called: accepts connections and reads what each is for. Callers that say nothing, too much
// or the wrong thing are dropped and disturb nobody. Who wants to join proves by a handshake that it knows
// the secret; other callers give a proof with what they say, see connection_proof.h, once.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <poll.h>

#include "base/instant.h"
#include "net/group/group_message.h"
#include "net/socket/address.h"
#include "net/socket/file_descriptor.h"
#include "net/socket/handshake.h"
#include "net/socket/listener.h"
#include "thalweg/secret.h"
#include "thalweg/status.h"

namespace thalweg {

class GroupAcceptor {
 public:
  struct Caller {
    FileDescriptor socket;
    Opening opening;
    std::vector<std::byte> body;
    std::string address;  // For messages.
  };

  explicit GroupAcceptor(Listener listener, const Secret& secret = {});
  // Listens at `address`; errors are those of Listener::open().
  static Result<std::unique_ptr<GroupAcceptor>> listen(const SocketAddress& address, bool insecure_no_auth,
                                                       const Secret& secret = {});
  // Takes calls by descriptor `lent`, a socket that listens at `address` for whoever has it. Until this
  // acceptor ends another finds nothing there. kUsage where `lent` is no such socket.
  static Result<std::unique_ptr<GroupAcceptor>> borrow(int lent, const SocketAddress& address,
                                                       bool insecure_no_auth, const Secret& secret = {});
  ~GroupAcceptor();
  // Listens at an abstract Unix-domain address too, whose name is drawn.
  Status listen_locally();
  const SocketAddress& address() const { return listener_.address(); }
  const std::string& local_name() const { return local_name_; }
  // Of this group, for joining others of it.
  const Secret& secret() const { return secret_; }

  // Hears callers of that group alone, but for those who want to join; none: of all, while one forms.
  void belong_to(const std::optional<GroupNonce>& group);
  // Accepts and reads what is there; never waits.
  void look(Instant now);
  // The first caller, in order of arrival, that `wanted` takes.
  std::optional<Caller> take(const std::function<bool(const Caller&)>& wanted);
  // What it waits for, and until when at the latest it may be waited for.
  Instant watch(std::vector<pollfd>& watched) const;
  // OK, or why somebody who calls has not been taken for so long: this process has no descriptors left. When
  // it has, those who have called are taken.
  Status shortage(Duration lasting = {}) const;
  // How many callers were dropped, and the last one's reason.
  std::uint64_t dropped() const { return dropped_; }
  const std::string& last_dropped() const { return last_dropped_; }

 private:
  struct Stranger {
    std::size_t wanted() const;  // Bytes that it may say next.
    Caller caller;
    std::vector<std::byte> bytes;  // Of what it says without a handshake.
    std::unique_ptr<Handshake> handshake{};
    Instant came;
  };
  void accept_all(Listener& listener);
  bool turn_away_oldest_stranger();
  bool turn_away_silent_stranger();
  bool hear(Stranger& stranger);
  bool take_in(Stranger& stranger, std::span<const std::byte> bytes);
  bool take_opening(Stranger& stranger);
  bool shake_hands(Stranger& stranger, std::span<const std::byte> bytes);
  bool let_in(Stranger& stranger, std::span<const std::byte> body);
  bool drop(const Stranger& stranger, const std::string& why);

  Secret secret_;
  Listener listener_;
  std::optional<Listener> local_listener_;
  int lent_ = -1;  // Where to leave the listener's socket in the end, or nowhere.
  std::string local_name_;
  const std::size_t strangers_max_;
  std::list<Stranger> strangers_;
  std::list<Caller> callers_;
  std::optional<GroupNonce> group_;
  std::set<std::array<std::uint64_t, 2>> calls_;  // That were let in since it last was another group.
  Instant looked_at_{};
  Status shortage_;  // At the last look.
  Instant short_since_ = kNever;
  std::uint64_t dropped_ = 0;
  std::string last_dropped_;
};

}  // namespace thalweg
