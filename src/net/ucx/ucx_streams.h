// Streams to one peer over UCX: each channel a window each way, its bytes in active messages.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "net/pair_streams.h"
#include "net/ucx/stream_window.h"
#include "net/ucx/ucx_port.h"

namespace thalweg {

class UcxStreams final : public PairStreams, public UcxPeer {
 public:
  // `name` names the peer in errors: "rank 3 (process 4711 at 127.0.0.1:7100)". `leads`: of all streams of
  // the port it is this that has it make progress. It outlives the port, and uses it in the functions of
  // PairStreams and greet() and leave() alone.
  UcxStreams(std::uint32_t rank, std::uint32_t peer, std::string name, bool leads, UcxPort& port)
      : rank_(rank), peer_(peer), name_(std::move(name)), leads_(leads), port_(port) {}

  void greet();
  bool greeted() const { return greeted_; }
  const Status& loss() const { return loss_; }
  void leave();  // When all messages have gone.

  std::size_t write(std::uint16_t channel, std::span<const Piece> pieces) override;
  Piece peek(std::uint16_t channel, std::size_t want) override;
  void consume(std::uint16_t channel, std::size_t bytes) override;
  std::size_t read(std::uint16_t channel, std::byte* into, std::size_t size) override;
  bool take_change() override;
  bool before_sleep(std::vector<pollfd>& watched) override;
  void after_sleep(std::span<const pollfd> watched) override;
  const Status& status() const override { return status_; }

  std::byte* place(const UcxHeader& header, std::size_t size) override;
  void on_message(const UcxHeader& header, std::size_t size) override;
  void on_loss(const std::string& why) override;

 private:
  struct Channel {
    SendWindow out;
    ReceiveWindow in;
  };
  std::unique_lock<std::mutex> enter();
  Channel& open(std::uint16_t channel);
  void post(UcxHeader::Kind kind, std::uint16_t channel, std::uint64_t at);
  void tell_room(std::uint16_t channel);
  void end_if_all_came();

  const std::uint32_t rank_;  // Of this process.
  const std::uint32_t peer_;
  const std::string name_;
  const bool leads_;
  UcxPort& port_;
  std::vector<std::unique_ptr<Channel>> channels_;  // By number; null until first used.
  std::uint64_t sent_ = 0;                          // Bytes of all channels.
  std::uint64_t received_ = 0;
  std::uint64_t farewell_ = ~std::uint64_t{0};  // How many the peer sent before it left.
  bool greeted_ = false;
  bool changed_ = false;  // Since take_change() told.
  Status loss_;
  Status status_;  // loss_, as the caller's thread was shown.
};

}  // namespace thalweg
