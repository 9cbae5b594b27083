// Somebody on a free port who answers each request with the same bytes, whatever is asked.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "net/socket/reserved_port.h"

namespace thalweg {

inline std::string http_answer(int code, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(code) + " Said\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

class HttpAnswers {
 public:
  explicit HttpAnswers(std::string answer) : answer_(std::move(answer)), port_(*hold_port()) {
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpAnswers() {
    over_ = true;
    ::shutdown(port_.socket.get(), SHUT_RDWR);
    thread_.join();
  }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_.number); }

 private:
  void serve() {
    while (!over_) {
      const FileDescriptor peer(::accept(port_.socket.get(), nullptr, nullptr));
      if (peer.get() < 0) continue;
      char asked[4096];
      if (::recv(peer.get(), asked, sizeof asked, 0) <= 0) continue;
      for (std::size_t sent = 0; sent < answer_.size();) {
        const ssize_t count = ::send(peer.get(), answer_.data() + sent, answer_.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += static_cast<std::size_t>(count);
      }
    }
  }

  const std::string answer_;
  HeldPort port_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace thalweg
