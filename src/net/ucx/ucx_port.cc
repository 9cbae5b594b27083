#include "net/ucx/ucx_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "net/group/group_call.h"
#include "net/live_fabric.h"

namespace thalweg {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kMessageId = 0;
constexpr Duration kSleep = 20ms;  // At most, where what else may change is not watched.
constexpr Duration kCloseTime = 200ms;
constexpr Duration kIdle = 2ms;  // A rank that has not turned to its port for so long is busy otherwise.

bool is_error(ucs_status_ptr_t request) { return UCS_PTR_IS_ERR(request); }

}  // namespace

Result<std::unique_ptr<UcxPort>> UcxPort::open(std::uint32_t ranks, bool loopback) {
  const Result<UcxLibrary> library = UcxLibrary::load();
  if (!library) return library.status();
  std::unique_ptr<UcxPort> port(new UcxPort(*library, ranks));
  if (Status started = port->start(loopback); !started.ok()) return started;
  return port;
}

Status UcxPort::failed(const char* what, ucs_status_t status) const {
  return {Code::kIo, fmt::format("UCX: {}: {}", what, ucx_.status_string(status))};
}

Status UcxPort::start(bool loopback) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucx_.config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return failed("its configuration cannot be read", status);
  if (loopback) status = ucx_.config_modify(config, "NET_DEVICES", "lo");
  ucp_params_t wanted{};
  wanted.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  wanted.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  wanted.estimated_num_eps = endpoints_.size();
  if (status == UCS_OK) {
    status = ucx_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &wanted, config, &context_);
  }
  ucx_.config_release(config);
  if (status != UCS_OK)
    return failed("no transport can be used; UCX_TLS and UCX_NET_DEVICES choose them", status);

  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = ucx_.worker_create(context_, &worker, &worker_);
  if (status != UCS_OK) return failed("no worker can be made", status);
  status = ucx_.worker_get_efd(worker_, &fd_);
  if (status != UCS_OK) return failed("its events cannot be waited for", status);

  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.arg = this;
  handler.cb = [](void* port, const void* header, std::size_t header_size, void* data, std::size_t size,
                  const ucp_am_recv_param_t* how) -> ucs_status_t {
    UcxHeader known;
    const bool is_here = !(how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV);
    if (header_size != sizeof known || !is_here) return UCS_OK;  // No rank sends that.
    std::memcpy(&known, header, sizeof known);
    static_cast<UcxPort*>(port)->take(known, data, size);
    return UCS_OK;
  };
  status = ucx_.worker_set_am_recv_handler(worker_, &handler);
  if (status != UCS_OK) return failed("messages cannot be received", status);
  pusher_ = std::thread([this] { push(); });
  return {};
}

// While the rank is busy with something else, messages that found no room still go.
void UcxPort::push() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (all_under_way_ == 0 || asleep_) pushes_ = false;
    if (!pushes_) {
      changed_.wait(lock, [this] { return pushes_ || stopping_; });
      continue;
    }
    const std::uint64_t turns = turns_;
    changed_.wait_for(lock, kIdle, [this] { return stopping_; });
    if (turns == turns_ && !asleep_ && !stopping_) progress();
  }
}

UcxPort::~UcxPort() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (pusher_.joinable()) pusher_.join();
  close_endpoints();
  if (worker_) ucx_.worker_destroy(worker_);
  if (context_) ucx_.cleanup(context_);
}

// What was sent leaves this rank first, unless peers do not take it in time. The worker ends what is left.
void UcxPort::close_endpoints() {
  std::vector<void*> closing;
  for (Endpoint& endpoint : endpoints_) {
    if (!endpoint.ep || endpoint.lost) continue;
    const ucp_request_param_t gently{};
    void* const request = ucx_.ep_close_nbx(std::exchange(endpoint.ep, nullptr), &gently);
    if (request && !is_error(request)) closing.push_back(request);
  }
  const Instant deadline = live_now() + kCloseTime;
  const auto done = [this](void* request) {
    if (ucx_.request_check_status(request) == UCS_INPROGRESS) return false;
    ucx_.request_free(request);
    return true;
  };
  while (std::erase_if(closing, done), !closing.empty() && live_now() < deadline) wait(deadline);
  for (void* request : closing) ucx_.request_free(request);  // Else the worker's end would find it in use.
}

Result<std::vector<std::byte>> UcxPort::address() const {
  ucp_address_t* found = nullptr;
  std::size_t size = 0;
  const ucs_status_t status = ucx_.worker_get_address(worker_, &found, &size);
  if (status != UCS_OK) return failed("this rank has no address", status);
  const auto* bytes = static_cast<const std::byte*>(static_cast<const void*>(found));
  std::vector<std::byte> address(bytes, bytes + size);
  ucx_.worker_release_address(worker_, found);
  return address;
}

// UCX 1.13 watches over peers on other machines alone: its shared memory takes no part where it does.
Status UcxPort::connect(std::uint32_t rank, std::span<const std::byte> address, bool local, UcxPeer& peer) {
  Endpoint& endpoint = endpoints_[rank];
  endpoint.peer = &peer;
  ucp_ep_params_t wanted{};
  wanted.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  wanted.address = static_cast<const ucp_address_t*>(static_cast<const void*>(address.data()));
  wanted.err_mode = local ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER;
  wanted.err_handler.arg = this;
  wanted.err_handler.cb = [](void* port, ucp_ep_h ep, ucs_status_t status) {
    auto& all = static_cast<UcxPort*>(port)->endpoints_;
    const auto it = std::find_if(all.begin(), all.end(), [ep](const Endpoint& one) { return one.ep == ep; });
    if (it == all.end()) return;
    static_cast<UcxPort*>(port)->lose(static_cast<std::uint32_t>(it - all.begin()), status);
  };
  const ucs_status_t status = ucx_.ep_create(worker_, &wanted, &endpoint.ep);
  return status == UCS_OK ? Status() : failed("no transport of its reaches the peer", status);
}

void UcxPort::lose(std::uint32_t rank, ucs_status_t status) {
  if (std::exchange(endpoints_[rank].lost, true)) return;
  endpoints_[rank].peer->on_loss(fmt::format("UCX: {}", ucx_.status_string(status)));
}

void UcxPort::send(std::uint32_t rank, const UcxHeader& header, const std::byte* data, std::size_t size) {
  Endpoint& to = endpoints_[rank];
  if (!to.ep || to.lost) return;
  armed_ = false;
  if (unused_.empty()) unused_.push_back(&pending_.emplace_back());
  Pending* const pending = unused_.back();
  unused_.pop_back();
  *pending = {this, rank, header};
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_AM_SEND_FLAG_EAGER;  // A peer that computes fetches nothing.
  how.user_data = pending;
  how.cb.send = [](void* request, ucs_status_t status, void* user_data) {
    auto* const sent = static_cast<Pending*>(user_data);
    sent->port->ucx_.request_free(request);
    sent->port->on_sent(sent, status);
  };
  ++to.under_way;
  ++all_under_way_;
  void* const request =
      ucx_.am_send_nbx(to.ep, kMessageId, &pending->header, sizeof pending->header, data, size, &how);
  if (!request || is_error(request)) return on_sent(pending, UCS_PTR_STATUS(request));
  begin_pushing();
}

void UcxPort::begin_pushing() {
  if (!std::exchange(pushes_, true)) changed_.notify_one();
}

void UcxPort::set_asleep(bool asleep) {
  asleep_ = asleep;
  if (!asleep && all_under_way_ > 0) begin_pushing();
}

void UcxPort::on_sent(Pending* pending, ucs_status_t status) {
  unused_.push_back(pending);
  --endpoints_[pending->rank].under_way;
  --all_under_way_;
  if (status != UCS_OK) lose(pending->rank, status);
}

void UcxPort::take(const UcxHeader& header, const void* data, std::size_t size) {
  if (header.from >= endpoints_.size() || !endpoints_[header.from].peer) return;
  UcxPeer& from = *endpoints_[header.from].peer;
  if (size > 0) {
    std::byte* const into = from.place(header, size);
    if (!into) return;
    std::memcpy(into, data, size);
  }
  from.on_message(header, size);
}

void UcxPort::progress() {
  armed_ = false;
  ++turns_;
  while (ucx_.worker_progress(worker_) != 0) {
  }
}

bool UcxPort::arm() {
  if (armed_) return true;
  armed_ = ucx_.worker_arm(worker_) == UCS_OK;
  return armed_;
}

void UcxPort::wait(Instant until) {
  progress();
  if (!arm()) return;
  std::vector<pollfd> watched{{fd_, POLLIN, 0}};
  sleep_on(watched, std::min(until, live_now() + kSleep));
  progress();
}

}  // namespace thalweg
