// Redis as a key-value peer: pipelined MGET and MSET of 8-byte keys and fixed-size values on one connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace thalweg::bench {

class RedisPeer {
 public:
  // A server on this machine's loopback; ends the process when there is none.
  RedisPeer(int port, std::size_t value_bytes);
  ~RedisPeer();
  RedisPeer(const RedisPeer&) = delete;
  RedisPeer& operator=(const RedisPeer&) = delete;

  // All commands of 1000 keys are sent before the first answer is read.
  void set(std::span<const std::uint64_t> keys);
  void get(std::span<const std::uint64_t> keys);

 private:
  void command(const char* name, std::span<const std::uint64_t> keys, bool with_values);
  void answers(std::size_t count);

  struct Connection;
  std::unique_ptr<Connection> connection_;
  std::string value_;
};

}  // namespace thalweg::bench
