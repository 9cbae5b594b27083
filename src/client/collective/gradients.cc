#include "thalweg/gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "client/collective/gradient_piece.h"
#include "client/group/group_call.h"
#include "client/group/group_impl.h"
#include "exchange/pipeline/pipeline.h"

namespace thalweg {
namespace {

// A channel of the pipeline's own group, which uses none but those of started operations.
constexpr std::uint16_t kControlChannel = GroupChannels::kPointToPoint;
// Pieces started at once, so that the group's thread has the next one at hand.
constexpr std::size_t kPiecesMax = 8;
// How long a failure is told to ranks that do not listen.
constexpr Duration kFarewell = std::chrono::seconds(1);

Result<std::unique_ptr<Codec>> codec_of(const GradientOptions& options) {
  if (options.codec.empty()) return std::unique_ptr<Codec>();
  const bool sums = options.reduction == Reduction::kSum || options.reduction == Reduction::kMean;
  if (options.type != DataType::kF32 || !sums) {
    return Status(Code::kUsage,
                  fmt::format("codec {} compresses sums and means of f32, not {} of {}", options.codec,
                              reduction_name(options.reduction), data_type_name(options.type)));
  }
  const auto spec = parse_codec(options.codec);
  if (!spec) return spec.status();
  return make_codec(*spec);
}

}  // namespace

// The pipeline belongs to the group's thread; what the user's thread shares with it is guarded by the mutex.
class Gradients::Impl final : public GroupTask {
 public:
  Impl(Group group, std::vector<GradientSpec> tensors, const GradientOptions& options, GradientMemory memory)
      : group_(std::move(group)),
        links_(group_.impl_->links),
        view_(group_.impl_->view),
        options_(options),
        memory_(std::move(memory)),
        under_way_(tensors.size()),
        pipeline_(std::move(tensors), options, group_.rank(), group_.size(), kControlChannel) {}

  ~Impl() override {
    if (links_->birth.elsewhere()) return;
    std::unique_lock lock(mutex_);
    leaving_ = true;
    if (running_) links_->driver.fabric().wake();
    changed_.wait(lock, [this] { return !running_; });
    lock.unlock();
    group_.free(memory_.data);
  }

  std::size_t size() const { return under_way_.size(); }
  std::span<std::byte> bytes(std::size_t number) {
    THALWEG_CHECK(number < size(), "no such gradient");
    const Block block = pipeline_.block(static_cast<std::uint32_t>(number));
    return {memory_.data + block.begin * memory_.element_bytes, block.count * memory_.element_bytes};
  }

  Status announce(std::size_t first, std::size_t last);
  Status wait(std::size_t first, std::size_t last);
  Stats stats() const {
    const Pipeline::Stats stats = pipeline_.stats();
    return {pipeline_.layout().buckets().size(), stats.units, stats.pieces, stats.in_flight_bytes_max};
  }

  bool advance(Instant now, bool any_lost) override;
  Instant next_deadline() override { return deadline_; }

 private:
  void take_announced(Instant now);
  void exchange();
  void end_pieces();
  void find_lost();
  bool rest(Instant now);

  Group group_;
  const std::shared_ptr<GroupLinks> links_;
  const std::shared_ptr<GroupView> view_;
  const GradientOptions options_;
  GradientMemory memory_;

  mutable std::mutex mutex_;  // Guards what follows, up to the pipeline.
  std::condition_variable changed_;
  std::vector<bool> under_way_;
  std::vector<std::uint32_t> announced_;  // Not yet told to the pipeline.
  Status status_;
  bool running_ = false;
  bool leaving_ = false;

  Pipeline pipeline_;
  std::deque<GradientPiece> pieces_;
  std::uint64_t pieces_begun_ = 0;
  std::vector<std::uint32_t> taken_, done_;
  Instant failed_at_ = kNever;
  Instant deadline_ = kNever;
};

Status Gradients::Impl::announce(std::size_t first, std::size_t last) {
  if (links_->birth.elsewhere()) return made_elsewhere("group");
  const std::lock_guard lock(mutex_);
  if (!status_.ok()) return status_;
  for (std::size_t number = last; number-- > first;) {
    if (number >= size()) return {Code::kUsage, fmt::format("no gradient {}; there are {}", number, size())};
    if (under_way_[number]) {
      return {Code::kUsage,
              fmt::format("gradient {} is announced again before its exchange has ended", number)};
    }
    under_way_[number] = true;
    announced_.push_back(static_cast<std::uint32_t>(number));
  }
  if (!running_) {
    running_ = true;
    links_->driver.start(*this);
  } else {
    links_->driver.fabric().wake();
  }
  return ok_status();
}

Status Gradients::Impl::wait(std::size_t first, std::size_t last) {
  if (last > size()) return {Code::kUsage, fmt::format("no gradient {}; there are {}", last - 1, size())};
  if (links_->birth.elsewhere()) return made_elsewhere("group");
  if (links_->driver.on_own_thread()) return must_start();
  std::unique_lock lock(mutex_);
  for (std::size_t number = first; number < last; ++number) {
    changed_.wait(lock, [&] { return !status_.ok() || !under_way_[number]; });
  }
  return status_;
}

bool Gradients::Impl::advance(Instant now, bool any_lost) {
  take_announced(now);
  // Until nothing changes: what is heard in the last look must not wait for the next, nor what is to be told.
  for (bool again = true; again;) {
    const std::uint64_t begun = pieces_begun_;
    end_pieces();
    const bool failed = !pipeline_.status().ok();
    pipeline_.advance(view_->fabric(), now);
    if (any_lost && pipeline_.awaiting()) find_lost();
    exchange();
    again = begun != pieces_begun_ || failed == pipeline_.status().ok();
  }
  deadline_ = pipeline_.next_deadline();
  return rest(now);
}

void Gradients::Impl::take_announced(Instant now) {
  bool leaving = false;
  {
    const std::lock_guard lock(mutex_);
    taken_.swap(announced_);
    leaving = leaving_;
  }
  for (const std::uint32_t number : taken_) {
    if (!pipeline_.announce(number, now).ok()) break;
  }
  taken_.clear();
  if (leaving && !pipeline_.idle()) {
    pipeline_.fail({Code::kAborted, fmt::format("rank {} has destroyed its gradients", group_.rank())});
  }
}

void Gradients::Impl::find_lost() {
  const std::uint32_t asked = group_.rank() == 0 ? group_.size() : 1;  // Others hear of it from rank 0.
  for (std::uint32_t peer = 0; peer < asked; ++peer) {
    if (peer == group_.rank()) continue;
    if (Status lost = view_->peer_status(peer); !lost.ok()) {
      return pipeline_.fail({lost.code(), fmt::format("exchange of gradients: {}", lost.message())});
    }
  }
}

void Gradients::Impl::exchange() {
  while (pieces_.size() < kPiecesMax) {
    const auto piece = pipeline_.start();
    if (!piece) return;
    pieces_.emplace_back(group_, memory_, options_, *piece);
    ++pieces_begun_;
  }
}

void Gradients::Impl::end_pieces() {
  done_.clear();
  while (!pieces_.empty() && pieces_.front().done()) {
    const Block block = pieces_.front().block();
    Status status = pieces_.front().end(memory_);
    pieces_.pop_front();
    if (status.ok()) {
      pipeline_.finish(block, done_);
    } else {
      pipeline_.fail(std::move(status));
    }
  }
  if (done_.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t number : done_) under_way_[number] = false;
  changed_.notify_all();
}

// True when there is nothing to do until the next announcement.
bool Gradients::Impl::rest(Instant now) {
  const bool failed = !pipeline_.status().ok();
  if (failed && failed_at_ == kNever) failed_at_ = now;
  const bool told = pipeline_.flushed() || (failed && now >= failed_at_ + kFarewell);
  if (failed && !told) deadline_ = failed_at_ + kFarewell;
  const std::lock_guard lock(mutex_);
  if (failed && status_.ok()) {
    status_ = pipeline_.status();
    changed_.notify_all();
  }
  if (!pieces_.empty() || !told || !announced_.empty() || (!failed && !pipeline_.idle())) return false;
  running_ = false;
  changed_.notify_all();
  return true;
}

Result<Gradients> Gradients::create(Group& group, std::vector<GradientSpec> tensors,
                                    GradientOptions options) {
  if (Status status = Pipeline::check(tensors, options); !status.ok()) return status;
  if (Status status = check_all_contribute("GradientOptions::route", options.route); !status.ok())
    return status;
  GradientMemory memory;
  memory.element_bytes = size_bytes(options.type);
  auto codec = codec_of(options);
  if (!codec) return codec.status();
  memory.codec = std::move(codec).value();
  std::uint64_t elements = 0;
  for (const GradientSpec& tensor : tensors) elements += tensor.elements;
  if (memory.codec) memory.residual.resize(elements);
  auto own = group.split(0);
  if (!own) return own.status();
  auto data = group.allocate_bytes(elements * memory.element_bytes);
  if (!data) return data.status();
  memory.data = static_cast<std::byte*>(*data);
  return Gradients(std::make_unique<Impl>(std::move(**own), std::move(tensors), options, std::move(memory)));
}

Gradients::Gradients(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Gradients::Gradients(Gradients&& other) noexcept = default;
Gradients& Gradients::operator=(Gradients&& other) noexcept = default;
Gradients::~Gradients() = default;

std::size_t Gradients::size() const { return impl_->size(); }
std::span<std::byte> Gradients::bytes(std::size_t number) { return impl_->bytes(number); }
std::span<float> Gradients::tensor(std::size_t number) {
  const auto bytes = impl_->bytes(number);
  return {static_cast<float*>(static_cast<void*>(bytes.data())), bytes.size() / sizeof(float)};
}
Status Gradients::announce(std::size_t number) { return impl_->announce(number, number + 1); }
Status Gradients::announce_all() { return impl_->announce(0, size()); }
Status Gradients::wait(std::size_t number) { return impl_->wait(number, number + 1); }
Status Gradients::wait_all() { return impl_->wait(0, size()); }
Gradients::Stats Gradients::stats() const { return impl_->stats(); }

}  // namespace thalweg
