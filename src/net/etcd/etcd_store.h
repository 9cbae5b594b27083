// A state store in an etcd of 3.4 or later, below a prefix of its own, asked through the JSON gateway. For
// one thread at a time. Each call ends by its deadline, whatever etcd does.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/etcd/etcd_message.h"
#include "net/etcd/etcd_place.h"
#include "net/etcd/etcd_value.h"
#include "net/etcd/http_client.h"
#include "node/state_store.h"

namespace thalweg {

struct EtcdLimits {
  Duration answer = std::chrono::seconds(3);  // Of one request; then another address is asked.
  Duration call = std::chrono::seconds(8);    // Of a call in which nothing has been changed yet.
};

class EtcdStore final : public StateStore {
 public:
  // Asks the first of the addresses that answers for its version. kUsage: TLS is refused, libcurl missing, or
  // the version too old. Of a swap the store takes this many keys, and 64 MB.
  static Result<std::unique_ptr<EtcdStore>> open(const EtcdPlace& place, EtcdLimits limits = {});
  static constexpr std::size_t kKeysMax = 1000;

  Result<StateView> get(std::string_view prefix) override;
  Result<std::uint64_t> swap(std::span<const StateGuard> guards, std::span<const StateChange> changes,
                             StateLease lease = 0) override;
  // Those of one answer of etcd's, which may have more.
  Result<std::vector<StateEvent>> watch(std::string_view prefix, std::uint64_t after, Duration wait) override;
  Result<StateLease> grant(Duration length) override;
  Status renew(StateLease lease) override;
  Status revoke(StateLease lease) override;

 private:
  EtcdStore(const EtcdPlace& place, EtcdLimits limits, std::unique_ptr<HttpClient> http);
  struct Asked {
    Status status;
    std::string body;
    bool unreached = false;  // By nobody's answer: another address may have one.
  };
  Asked ask_one(const std::string& path, std::string_view body, Duration limit);
  // `again`: a request that may have been heard may be sent again.
  Result<std::string> ask(const std::string& path, const std::string& body, bool again);
  // That the store is the same, and no older than it was.
  Status note(const etcd::Header& header, bool of_newest);
  Status check_version();
  Result<StateView> read_view(std::string_view prefix);
  Result<std::string> read_value(std::string_view key, std::string_view kept, std::uint64_t revision);
  Result<etcd::RangeAnswer> read_page(const std::string& begin, const std::string& end,
                                      std::uint64_t revision, std::size_t& limit);
  struct Swap;
  Status put_pieces(const Swap& swap);
  Result<std::uint64_t> make(const Swap& swap, std::span<const std::string> more_guards,
                             const std::vector<std::string>& operations);
  std::string head(std::string_view key) const;
  std::string piece_prefix(std::string_view key) const;

  const EtcdPlace place_;
  const EtcdLimits limits_;
  std::unique_ptr<HttpClient> http_;
  std::size_t endpoint_ = 0;  // That answered last.
  std::uint64_t cluster_ = 0, newest_ = 0;
  Status changed_;  // Why the store is another one than it was: for good.
  std::mt19937_64 random_;
};

}  // namespace thalweg
