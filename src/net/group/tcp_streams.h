// Streams to one peer over TCP: a socket a channel, driven by the caller's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "net/group/connection_proof.h"
#include "net/pair_streams.h"

namespace thalweg {

// One connected socket as a stream each way. Where this end was called, its proof goes before what it writes
// first; else nothing is read before the other end's proof.
class TcpStream {
 public:
  explicit TcpStream(RankConnection connection);
  std::size_t write(std::span<const Piece> pieces);
  Piece peek(std::size_t want);
  void consume(std::size_t bytes) { begin_ += bytes; }
  std::size_t read(std::byte* into, std::size_t size);

  int fd() const { return socket_.get(); }
  bool wants_bytes() const { return wanted_ > 0; }  // The last look found none, or too few.
  bool wants_room() const { return wants_room_; }   // The last write() came up short.
  // Nothing more will come or go; what has come can still be read.
  bool over() const { return hung_up_ || at_end_; }
  bool at_end() const { return at_end_; }  // What came has been received.
  void hang_up();                          // poll() found it so.
  std::string reason() const;

 private:
  std::size_t buffered() const { return end_ - begin_; }
  std::size_t receive(std::byte* into, std::size_t size);
  std::size_t receive_some(std::byte* into, std::size_t size);
  bool give_proof();
  bool hear_proof();
  void fill(std::size_t want);

  FileDescriptor socket_;
  const Proof answer_;
  Proof heard_{};            // Of the other end's.
  std::size_t owed_ = 0;     // Of the answer, by this end.
  std::size_t awaited_ = 0;  // By this end.
  bool is_stranger_ = false;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t wanted_ = 0;  // By the last look, and not found.
  bool wants_room_ = false;
  bool hung_up_ = false;
  bool at_end_ = false;
  int error_ = 0;
};

class TcpStreams final : public PairStreams {
 public:
  // Makes the connection of a channel; an empty descriptor while there is none yet.
  using Opener = std::function<Result<RankConnection>(std::uint16_t channel)>;
  // `peer` names the other rank in errors: "rank 3 (process 4711 at 127.0.0.1:7100)".
  TcpStreams(std::string peer, Opener opener) : peer_(std::move(peer)), opener_(std::move(opener)) {}

  void adopt(std::uint16_t channel, RankConnection connection);
  std::size_t write(std::uint16_t channel, std::span<const Piece> pieces) override;
  Piece peek(std::uint16_t channel, std::size_t want) override;
  void consume(std::uint16_t channel, std::size_t bytes) override;
  std::size_t read(std::uint16_t channel, std::byte* into, std::size_t size) override;
  bool before_sleep(std::vector<pollfd>& watched) override;
  void after_sleep(std::span<const pollfd> watched) override;
  // Lost once a stream that is waited for has ended, or all have: after one's end what was sent before on
  // another may still be on its way, or that other may have yet to be opened.
  const Status& status() const override { return status_; }

 private:
  TcpStream* open(std::uint16_t channel);
  void note_end(const TcpStream& stream);
  void lose(const std::string& why);

  std::string peer_;
  Opener opener_;
  std::vector<std::unique_ptr<TcpStream>> streams_;  // By channel; null until first used.
  Status status_;
  bool stays_lost_ = false;  // Whatever streams the peer has opened yet.
};

}  // namespace thalweg
