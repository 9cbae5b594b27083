// What a node of a ring has, in a directory: a log of changes, written before anybody is told of them. It
// outlives the process; what the machine had not yet written when it stopped is got from other nodes again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "node/disk.h"
#include "node/node.h"
#include "quorum/journal.h"
#include "quorum/version_store.h"

namespace thalweg {

class VersionLog final : public quorum::Journal {
 public:
  // Whose log it is.
  struct Owner {
    std::uint64_t cluster = 0;
    std::uint32_t node = 0;
    std::string boot;  // Of the machine: another one each time that it starts.
  };
  // Reads what is in `directory`, which is made where there is nothing. kUsage: another process has it, or it
  // is of another ring or node. kModel: it is no such log, or of another version.
  static Result<std::unique_ptr<VersionLog>> open(Disk& disk, const std::string& directory, Owner owner);

  // The store's life: that of the log, or `drawn` where it may lack what the node has said.
  std::uint32_t life(std::uint32_t drawn) const { return whole_ ? life_ : drawn; }
  // For people: what of the log is left out as it was damaged, and where that log stays; empty: nothing.
  std::string damage() const;
  // Gives the store what the log has, begins the log anew with that, and writes all changes from now on.
  Status attach(quorum::VersionStore& store);
  // Between two turns: begins the log anew once most of it is of the past.
  void tidy();
  // OK, or why nothing can be written any more: then nobody may be told anything.
  const Status& status() const { return status_; }
  std::uint64_t bytes() const { return end_; }

  void note(Key key, const quorum::Record& record) override;
  void note_hint(std::uint32_t target, Key key, const quorum::Record* hint) override;
  void note_complete() override;

 private:
  VersionLog(Disk& disk, std::string directory, Owner owner)
      : disk_(disk), directory_(std::move(directory)), owner_(std::move(owner)) {}
  Status read();
  bool take_header(Reader& in, Status& refused);
  bool take_entry(Reader& in);
  Status begin_anew(bool keeps_old);
  void append(const Bytes& entry);
  std::string path() const { return directory_ + "/log"; }
  std::string damaged_path() const { return path() + ".damaged"; }

  Disk& disk_;
  const std::string directory_;
  const Owner owner_;
  std::unique_ptr<Claim> claim_;
  std::unique_ptr<File> file_;
  std::uint64_t end_ = 0;
  quorum::VersionStore* store_ = nullptr;
  Status status_;
  // As read.
  struct Damage {
    std::uint64_t at = 0, bytes = 0;
  };
  std::optional<Damage> damage_;  // From there to the end.
  bool whole_ = false;            // It has all that the node has said.
  bool complete_ = false;
  std::uint32_t life_ = 0;
  std::map<Key, quorum::Record> records_;
  std::map<std::pair<std::uint32_t, Key>, quorum::Record> hints_;
};

// The boot that this machine is in; empty where it does not say.
std::string boot_of_machine();

// A server of which nobody hears what its log has not.
class KeptQuorumServer final : public Node {
 public:
  KeptQuorumServer(Node& server, VersionLog& log) : server_(server), log_(log) {}

  void on_frame(Instant now, NodeId from, Frame frame, Transport& out) override {
    Gate gate(*this, out);
    server_.on_frame(now, from, std::move(frame), gate);
    log_.tidy();
  }
  void on_time(Instant now, Transport& out) override {
    Gate gate(*this, out);
    server_.on_time(now, gate);
    log_.tidy();
  }
  Instant next_deadline() const override { return server_.next_deadline(); }
  void on_peer_lost(Instant now, NodeId peer, Transport& out) override {
    Gate gate(*this, out);
    server_.on_peer_lost(now, peer, gate);
  }
  bool finished() const override { return server_.finished(); }

 private:
  class Gate final : public Transport {
   public:
    Gate(const KeptQuorumServer& kept, Transport& out) : kept_(kept), out_(out) {}
    void send(NodeId to, Frame frame) override {
      if (kept_.log_.status().ok()) out_.send(to, std::move(frame));
    }
    void introduce(NodeId node, std::string_view address) override { out_.introduce(node, address); }
    void rename_self(NodeId id, std::uint64_t cluster) override { out_.rename_self(id, cluster); }

   private:
    const KeptQuorumServer& kept_;
    Transport& out_;
  };

  Node& server_;
  VersionLog& log_;
};

}  // namespace thalweg
