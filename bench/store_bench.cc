// Pull and push between a worker process and a server process over TCP, through the real protocol, beside
// Redis. Asynchronous consistency, rule "add". Each round measures every case once, in turn.
//   store_bench [MILLION_KEYS [ROUNDS [JSON_FILE [REDIS_PORT [CASES]]]]]
//   Default 10 and 5, no file ("-"), no Redis (0), all cases ("random,hot,small,dense").
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "bench/rates.h"
#include "bench/store_session.h"
#ifdef THALWEG_BENCH_REDIS
#include "bench/redis_peer.h"
#endif

namespace thalweg::bench {
namespace {

constexpr std::uint32_t kDim = 8;
constexpr std::size_t kBatch = 100'000;
constexpr std::size_t kBatches = 40;        // Of random keys, each used once a case.
constexpr std::size_t kRedisBatches = 5;    // It is that much slower.
constexpr std::size_t kWindow = 4;          // Requests under way where nothing else is said.
constexpr std::uint32_t kValueDim = 1024;   // 4 KB.
constexpr std::uint64_t kBlock = 1u << 18;  // Floats of a dense push: 1 MB.
constexpr Duration kSpin = std::chrono::microseconds(50);
const TableId kTable{0};

struct Load {
  std::vector<std::vector<Key>> random;  // Not sorted, as an application has them.
  std::vector<Keys> placed;              // The same, ready for the store.
  Keys hot;
  Rows grads{std::vector<float>(kBatch * kDim, 0.5F)};
};

Load make_load(std::span<const Key> keys) {
  Load load;
  Random random(2);
  for (std::size_t b = 0; b < kBatches; ++b) {
    std::vector<Key>& batch = load.random.emplace_back();
    while (batch.size() < kBatch) batch.push_back(keys[random.below(keys.size())]);
    load.placed.push_back(Keys::of(batch));
  }
  load.hot = Keys::of(keys.first(std::min(kBatch, keys.size())));
  return load;
}

Rows grads_for(const Load& load, const Keys& keys) {
  return Rows(load.grads.owner(), load.grads.span().first(keys.size() * kDim));
}

// Requests under way, answered in order.
class Window {
 public:
  explicit Window(std::size_t size) : size_(size) {}
  bool full() const { return open_.size() >= size_; }
  bool empty() const { return open_.empty(); }
  void add(Pending pending) { open_.push_back(std::move(pending)); }
  Pending take() {
    Pending first = std::move(open_.front());
    open_.pop_front();
    return first;
  }

 private:
  std::size_t size_;
  std::deque<Pending> open_;
};

using KeysOf = std::function<Keys(std::size_t)>;

Task<Status> pulls(Store& store, std::size_t count, std::size_t window, const KeysOf& keys_of) {
  Window open(window);
  for (std::size_t i = 0; i < count || !open.empty();) {
    if (i == count || open.full()) {
      const Answer answer = co_await open.take();
      if (!answer.status.ok()) co_return answer.status;
      continue;
    }
    open.add(store.pull(kTable, keys_of(i++)));
  }
  co_return ok_status();
}

Task<Status> pushes(Store& store, std::size_t count, std::size_t window, const KeysOf& keys_of,
                    const std::function<Rows(const Keys&)>& grads_of) {
  Window open(window);
  for (std::size_t i = 0; i < count || !open.empty();) {
    if (i == count || open.full()) {
      const Answer answer = co_await open.take();
      if (!answer.status.ok()) co_return answer.status;
      continue;
    }
    const Keys keys = keys_of(i++);
    open.add(store.push(kTable, keys, grads_of(keys)));
    const Answer advanced = co_await store.advance();
    if (!advanced.status.ok()) co_return advanced.status;
  }
  co_return ok_status();
}

// One push at a time; the round trips in microseconds.
Task<Status> round_trips(Store& store, const StoreSession& session, const Keys& keys, const Rows& grads,
                         std::size_t count, std::vector<double>& out) {
  for (std::size_t i = 0; i < count; ++i) {
    const Instant begin = session.now();
    const Answer answer = co_await store.push(kTable, keys, grads);
    out.push_back(std::chrono::duration<double, std::micro>(session.now() - begin).count());
    if (!answer.status.ok()) co_return answer.status;
    const Answer advanced = co_await store.advance();
    if (!advanced.status.ok()) co_return advanced.status;
  }
  co_return ok_status();
}

TableSpec sparse(std::uint32_t dim) {
  TableSpec spec;
  spec.name = "sparse", spec.dim = dim;
  return spec;
}

TableSpec dense(std::uint64_t rows) {
  TableSpec spec;
  spec.kind = TableSpec::Kind::kDense, spec.name = "dense", spec.rows = rows;
  return spec;
}

class Bench {
 public:
  Bench(std::size_t keys, [[maybe_unused]] int redis_port)
      : many_(sparse(kDim), kSpin),
        few_(sparse(kDim), kSpin),
        values_(sparse(kValueDim), kSpin),
        block_(dense(kBlock), kSpin) {
    Random random(1);
    std::vector<Key> all(keys);
    for (Key& key : all) key = random.next() >> 1;
    load_ = make_load(all);
    const auto part = [&](std::size_t i) {
      return std::span<const Key>(all).subspan(i * kBatch, std::min(kBatch, keys - i * kBatch));
    };
    push(many_, (keys + kBatch - 1) / kBatch, kWindow, [&](std::size_t i) { return Keys::of(part(i)); });
    push(few_, 1, 1, [this](std::size_t) { return load_.hot; });
#ifdef THALWEG_BENCH_REDIS
    if (redis_port > 0) {
      redis_.emplace(redis_port, kDim * sizeof(float));
      for (std::size_t i = 0; i * kBatch < keys; ++i) redis_->set(part(i));
    }
#endif
  }

  void round(const std::string& cases) {
    const auto wanted = [&](const char* name) { return cases.find(name) != std::string::npos; };
    if (wanted("random")) random_keys();
    if (wanted("hot")) hot_keys();
    if (wanted("small")) small_values();
    if (wanted("dense")) dense_block();
  }
  const Rates& rates() const { return rates_; }

 private:
  double pull(StoreSession& session, std::size_t count, std::size_t window, const KeysOf& keys_of) {
    return session.time([&](Store& store) { return pulls(store, count, window, keys_of); });
  }
  double push(StoreSession& session, std::size_t count, std::size_t window, const KeysOf& keys_of) {
    const std::function<Rows(const Keys&)> grads_of = [this](const Keys& keys) {
      return grads_for(load_, keys);
    };
    return session.time([&](Store& store) { return pushes(store, count, window, keys_of, grads_of); });
  }
  double push_same(StoreSession& session, const Keys& keys, const Rows& grads, std::size_t count,
                   std::size_t window) {
    const KeysOf keys_of = [&](std::size_t) { return keys; };
    const std::function<Rows(const Keys&)> grads_of = [&](const Keys&) { return grads; };
    return session.time([&](Store& store) { return pushes(store, count, window, keys_of, grads_of); });
  }
  void add_keys(const std::string& name, std::size_t batches, double seconds) {
    rates_.add(name, "M keys/s", static_cast<double>(batches * kBatch) / seconds * 1e-6);
  }

  void random_keys() {
    const KeysOf placed = [this](std::size_t i) { return load_.placed[i % kBatches]; };
    const KeysOf of = [this](std::size_t i) { return Keys::of(load_.random[i % kBatches]); };
    add_keys("pull, random", kBatches, pull(many_, kBatches, kWindow, placed));
    add_keys("pull, random, 1 in flight", kBatches, pull(many_, kBatches, 1, placed));
    add_keys("pull, random, Keys::of included", kBatches, pull(many_, kBatches, kWindow, of));
    redis(false);
    add_keys("push, random", kBatches, push(many_, kBatches, kWindow, placed));
    add_keys("push, random, 1 in flight", kBatches, push(many_, kBatches, 1, placed));
    add_keys("push, random, Keys::of included", kBatches, push(many_, kBatches, kWindow, of));
    redis(true);
  }

  void redis([[maybe_unused]] bool set) {
#ifdef THALWEG_BENCH_REDIS
    if (!redis_) return;
    const Instant begin = many_.now();
    for (std::size_t i = 0; i < kRedisBatches; ++i) {
      const std::span<const Key> keys = load_.random[redis_next_++ % kBatches];
      set ? redis_->set(keys) : redis_->get(keys);
    }
    add_keys(set ? "redis MSET, random" : "redis MGET, random", kRedisBatches,
             std::chrono::duration<double>(many_.now() - begin).count());
#endif
  }

  void hot_keys() {
    constexpr std::size_t kCount = 100;
    const KeysOf hot = [this](std::size_t) { return load_.hot; };
    add_keys("pull, hot", kCount, pull(many_, kCount, kWindow, hot));
    add_keys("push, hot", kCount, push(many_, kCount, kWindow, hot));
    add_keys("pull, hot, no other keys", kCount, pull(few_, kCount, kWindow, hot));
    add_keys("push, hot, no other keys", kCount, push(few_, kCount, kWindow, hot));
  }

  void small_values() {
    const Keys key = Keys::of(std::vector<Key>{7});
    const Rows value(std::vector<float>(kValueDim, 0.5F));
    std::vector<double> us;
    const double seconds =
        values_.time([&](Store& store) { return round_trips(store, values_, key, value, 20'000, us); });
    std::sort(us.begin(), us.end());
    rates_.add("push 4 KB, 1 in flight, p50", "us", us[us.size() / 2]);
    rates_.add("push 4 KB, 1 in flight, p99", "us", us[us.size() * 99 / 100]);
    rates_.add("push 4 KB, 1 in flight", "k/s", static_cast<double>(us.size()) / seconds * 1e-3);
    rates_.add("push 4 KB, 32 in flight", "k/s",
               100'000 / push_same(values_, key, value, 100'000, 32) * 1e-3);
  }

  void dense_block() {
    const Keys rows = Keys::block(0, kBlock);
    const Rows block(std::vector<float>(kBlock, 0.5F));
    constexpr double kGigabytes = 1000.0 * kBlock * sizeof(float) * 1e-9;
    rates_.add("push 1 MB dense, 4 in flight", "GB/s", kGigabytes / push_same(block_, rows, block, 1000, 4));
    rates_.add("push 1 MB dense, 1 in flight", "GB/s", kGigabytes / push_same(block_, rows, block, 1000, 1));
  }

  StoreSession many_;
  StoreSession few_;
  StoreSession values_;
  StoreSession block_;
  Load load_;
#ifdef THALWEG_BENCH_REDIS
  std::optional<RedisPeer> redis_;
  std::size_t redis_next_ = 0;
#endif
  Rates rates_;
};

}  // namespace
}  // namespace thalweg::bench

int main(int argc, char** argv) {
  const int millions = argc > 1 ? std::atoi(argv[1]) : 10;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 5;
  const std::string json = argc > 3 ? argv[3] : "-";
  const std::string cases = argc > 5 ? argv[5] : "random,hot,small,dense";
  if (millions < 1 || rounds < 1) {
    fmt::print(stderr, "usage: store_bench [MILLION_KEYS [ROUNDS [JSON_FILE [REDIS_PORT [CASES]]]]]\n");
    return 2;
  }
  thalweg::bench::Bench bench(static_cast<std::size_t>(millions) * 1'000'000,
                              argc > 4 ? std::atoi(argv[4]) : 0);
  for (int i = 0; i < rounds; ++i) bench.round(cases);
  bench.rates().print();
  return json == "-" || bench.rates().write(json) ? 0 : 1;
}
