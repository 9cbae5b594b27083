#include "bench/redis_peer.h"

#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace thalweg::bench {
namespace {

constexpr std::size_t kKeysACommand = 1000;

}  // namespace

struct RedisPeer::Connection {
  redisContext* context = nullptr;
  ~Connection() { redisFree(context); }
};

RedisPeer::RedisPeer(int port, std::size_t value_bytes)
    : connection_(std::make_unique<Connection>()), value_(value_bytes, 'v') {
  connection_->context = redisConnect("127.0.0.1", port);
  THALWEG_CHECK(connection_->context != nullptr && connection_->context->err == 0,
                "Redis answers at its port");
  // As our own connections on loopback; a kernel without it keeps its default.
  static constexpr char kReno[] = "reno";
  (void)::setsockopt(connection_->context->fd, IPPROTO_TCP, TCP_CONGESTION, kReno, sizeof kReno - 1);
}

RedisPeer::~RedisPeer() = default;

void RedisPeer::command(const char* name, std::span<const std::uint64_t> keys, bool with_values) {
  std::vector<const char*> words{name};
  std::vector<std::size_t> sizes{4};
  for (const std::uint64_t& key : keys) {
    words.push_back(static_cast<const char*>(static_cast<const void*>(&key)));
    sizes.push_back(sizeof key);
    if (!with_values) continue;
    words.push_back(value_.data());
    sizes.push_back(value_.size());
  }
  const int result = redisAppendCommandArgv(connection_->context, static_cast<int>(words.size()),
                                            words.data(), sizes.data());
  THALWEG_CHECK(result == REDIS_OK, "Redis takes a command");
}

void RedisPeer::answers(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    void* answer = nullptr;
    THALWEG_CHECK(redisGetReply(connection_->context, &answer) == REDIS_OK, "Redis answers");
    const auto* reply = static_cast<redisReply*>(answer);
    THALWEG_CHECK(reply->type != REDIS_REPLY_ERROR, "Redis accepts the command");
    THALWEG_CHECK(reply->type != REDIS_REPLY_ARRAY || reply->element[0]->len == value_.size(),
                  "Redis has the key");
    freeReplyObject(answer);
  }
}

void RedisPeer::set(std::span<const std::uint64_t> keys) {
  std::size_t commands = 0;
  for (std::size_t i = 0; i < keys.size(); i += kKeysACommand, ++commands)
    command("MSET", keys.subspan(i, std::min(kKeysACommand, keys.size() - i)), true);
  answers(commands);
}

void RedisPeer::get(std::span<const std::uint64_t> keys) {
  std::size_t commands = 0;
  for (std::size_t i = 0; i < keys.size(); i += kKeysACommand, ++commands)
    command("MGET", keys.subspan(i, std::min(kKeysACommand, keys.size() - i)), false);
  answers(commands);
}

}  // namespace thalweg::bench
