#include "net/socket/event_loop.h"

#define ASIO_STANDALONE 1
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <cstring>
#include <utility>

namespace thalweg {
namespace {

using asio::ip::tcp;

// Outlives its Watch while callbacks of it are queued.
struct WatchState : std::enable_shared_from_this<WatchState> {
  explicit WatchState(asio::io_context& context) : descriptor(context) {}
  void wait_for(asio::posix::descriptor_base::wait_type what, bool WatchState::*waiting,
                std::function<void()> WatchState::*callback) {
    if (std::exchange(this->*waiting, true)) return;
    descriptor.async_wait(what, [self = shared_from_this(), waiting, callback](std::error_code error) {
      (*self).*waiting = false;
      if (self->closed || error == asio::error::operation_aborted) return;
      ((*self).*callback)();
    });
  }
  asio::posix::stream_descriptor descriptor;
  std::function<void()> on_readable;
  std::function<void()> on_writable;
  bool reading = false;
  bool writing = false;
  bool closed = false;
};

class AsioWatch final : public EventLoop::Watch {
 public:
  explicit AsioWatch(std::shared_ptr<WatchState> state) : state_(std::move(state)) {}
  ~AsioWatch() override {
    state_->closed = true;
    state_->descriptor.release();  // Cancels; the socket stays open.
  }
  AsioWatch(const AsioWatch&) = delete;
  AsioWatch& operator=(const AsioWatch&) = delete;
  void want_read() override {
    state_->wait_for(asio::posix::descriptor_base::wait_read, &WatchState::reading, &WatchState::on_readable);
  }
  void want_write() override {
    state_->wait_for(asio::posix::descriptor_base::wait_write, &WatchState::writing,
                     &WatchState::on_writable);
  }

 private:
  std::shared_ptr<WatchState> state_;
};

SocketAddress to_address(const tcp::endpoint& endpoint) {
  SocketAddress address;
  address.size = static_cast<socklen_t>(endpoint.size());
  std::memcpy(&address.storage, endpoint.data(), endpoint.size());
  return address;
}

Status unknown_host(const std::string& host, const std::string& why) {
  return {Code::kIo, "cannot find host " + host + ": " + why};
}

}  // namespace

struct EventLoop::Impl {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  tcp::resolver resolver{context};
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;

std::unique_ptr<EventLoop::Watch> EventLoop::watch(int fd, std::function<void()> on_readable,
                                                   std::function<void()> on_writable) {
  auto state = std::make_shared<WatchState>(impl_->context);
  std::error_code error;
  state->descriptor.assign(fd, error);
  if (error) return nullptr;
  state->on_readable = std::move(on_readable);
  state->on_writable = std::move(on_writable);
  return std::make_unique<AsioWatch>(std::move(state));
}

void EventLoop::resolve(const std::string& host, const std::string& port,
                        std::function<void(Result<std::vector<SocketAddress>>)> on_done) {
  const auto collect = [](const tcp::resolver::results_type& found) {
    std::vector<SocketAddress> addresses;
    for (const auto& entry : found) addresses.push_back(to_address(entry.endpoint()));
    return addresses;
  };
  std::error_code error;
  const auto numeric = impl_->resolver.resolve(
      host, port, tcp::resolver::numeric_host | tcp::resolver::numeric_service, error);
  if (!error) return on_done(collect(numeric));
  impl_->resolver.async_resolve(
      host, port, tcp::resolver::numeric_service,
      [host, collect, done = std::move(on_done)](std::error_code failure, const auto& found) {
        if (failure == asio::error::operation_aborted) return;
        if (failure) return done(unknown_host(host, failure.message()));
        done(collect(found));
      });
}

bool EventLoop::poll() { return impl_->context.poll() > 0; }

void EventLoop::wait(Duration timeout) { impl_->context.run_one_for(timeout); }

void EventLoop::wake() {
  asio::post(impl_->context, [] {});
}

}  // namespace thalweg
