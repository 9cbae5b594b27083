// Jobs within this process, whose data shards are threads of Python.
#include "thalweg/job.h"
#include "gil.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/rule_fields.h"
#include "base/word_list.h"
#include "bindings.h"
#include "errors.h"
#include "new_array.h"
#include "seconds.h"

namespace nb = nanobind;

namespace thalweg::python {
namespace {

using KeyArray = nb::ndarray<nb::ro, const Key, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FloatArray = nb::ndarray<nb::ro, const float, nb::c_contig, nb::device::cpu>;
using Seconds = std::optional<double>;

constexpr std::chrono::milliseconds kInterruptLook(100);

BlockingStore::Timeout timeout_of(Seconds seconds) {
  return seconds ? nanoseconds_of(*seconds) : BlockingStore::kJobTimeout;
}

Status status_of(const Status& status) { return status; }
template <class T>
Status status_of(const Result<T>& result) {
  return result.status();
}

// A job that its stores keep, and what each shard's calls take turns by. Its last owner is Python, with the
// GIL.
class SharedJob {
 public:
  explicit SharedJob(const JobOptions& its_options) : options(its_options), turns_(options.data_shards) {}

  ~SharedJob() {
    const WithoutGil no_gil;
    job_.reset();
  }

  void start() {
    JobOptions interrupted = options;
    interrupted.interrupted = [this] { return this->interrupted(); };
    auto job = [&] {
      const WithoutGil no_gil;
      return Job::start(interrupted);
    }();
    job_.emplace(value_of(std::move(job)));
  }

  // Calls `one`, which returns a Status or a Result, with the job in this shard's turn, without the GIL.
  // Throws what the handler of a signal has thrown meanwhile.
  template <class Call>
  auto in_turn(std::uint32_t shard, Call one) {
    std::optional<std::invoke_result_t<Call, Job&>> answer;
    {
      const WithoutGil no_gil;
      std::unique_lock turn(turns_[shard], std::defer_lock);
      while (over_ == nullptr && !turn.try_lock_for(kInterruptLook) && !interrupted()) {
      }
      if (turn && over_ == nullptr) answer = one(*job_);
    }
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    const char* const over = over_;
    if (!answer || (over != nullptr && !status_of(*answer).ok())) {
      raise({Code::kAborted, over != nullptr ? over : kStopped});
    }
    return *std::move(answer);
  }
  void close() {
    const WithoutGil no_gil;
    over_ = "the job is closed";
    std::vector<std::unique_lock<std::timed_mutex>> all;
    for (std::timed_mutex& turn : turns_) all.emplace_back(turn);
    job_.reset();
  }
  // While `stops`, calls fail, those under way too.
  void stop_calls(bool stops) {
    const char* before = stops ? nullptr : kStopped;
    over_.compare_exchange_strong(before, stops ? kStopped : nullptr);
  }
  const TableSpec& table(std::uint16_t index) const {
    if (index >= options.tables.size()) {
      raise({Code::kUsage, fmt::format("table {}: expected one below {}", index, options.tables.size())});
    }
    return options.tables[index];
  }

  const JobOptions options;

 private:
  static constexpr const char* kStopped = "the programs were interrupted";

  // Whether a call that waits is to end: with the error of a signal's handler, or for `over_`.
  bool interrupted() {
    if (over_ != nullptr) return true;
    const WithGil gil;
    return PyErr_CheckSignals() != 0;
  }

  std::vector<std::timed_mutex> turns_;
  std::atomic<const char*> over_ = nullptr;  // Why calls fail; null: they do not.
  std::optional<Job> job_;
};

// The keys of one call as they travel: each once, or a block of a dense table.
struct CallKeys {
  Keys keys;
  std::vector<std::uint32_t> at;  // Of each key given, its row among the call's; empty: they are the same.
  std::size_t count() const { return at.empty() ? keys.size() : at.size(); }
};

// The block from the least to the greatest. `pushes`: none of it may be left out, since rules see all of it.
CallKeys rows_of_dense(const TableSpec& table, std::span<const Key> keys, bool pushes) {
  if (keys.empty()) return {Keys::block(0, 0), {}};
  const auto [least, greatest] = std::minmax_element(keys.begin(), keys.end());
  const Key first = *least;
  if (*greatest >= table.rows) {
    raise({Code::kUsage, fmt::format("row {} of dense table {}: expected one below {}", *greatest, table.name,
                                     table.rows)});
  }
  const std::uint64_t count = *greatest - first + 1;
  CallKeys out{Keys::block(first, count), {}};
  std::vector<bool> given(pushes ? count : 0);
  bool in_order = keys.size() == count;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t row = keys[i] - first;
    in_order = in_order && row == i;
    if (pushes) given[row] = true;
    out.at.push_back(static_cast<std::uint32_t>(row));
  }
  if (in_order) out.at.clear();
  const auto left_out = std::find(given.begin(), given.end(), false);
  if (left_out == given.end()) return out;
  raise(
      {Code::kUsage,
       fmt::format(
           "rows pushed to dense table {} leave out row {}; expected all from the least to the greatest, {}",
           table.name, first + static_cast<Key>(left_out - given.begin()), *greatest)});
}

CallKeys listed_keys(const TableSpec& table, const KeyArray& array, bool pushes) {
  const std::span<const Key> keys(array.data(), array.size());
  if (table.kind == TableSpec::Kind::kDense) return rows_of_dense(table, keys, pushes);
  if (std::find(keys.begin(), keys.end(), kReservedKey) != keys.end()) {
    raise({Code::kUsage, "key 2^64-1 is reserved"});
  }
  CallKeys out;
  out.keys = Keys::of(keys, &out.at);
  return out;
}

CallKeys dense_keys(const TableSpec& table, std::uint64_t first, std::uint64_t rows) {
  if (table.kind != TableSpec::Kind::kDense || first > table.rows || rows > table.rows - first) {
    raise({Code::kUsage, fmt::format("rows {} to {} of table {}: expected a range of a dense table", first,
                                     first + rows, table.name)});
  }
  return {Keys::block(first, rows), {}};
}

CallKeys keys_of(const TableSpec& table, const nb::object& given, bool pushes) {
  if (nb::isinstance<nb::tuple>(given)) {
    const auto [first, rows] = nb::cast<std::pair<std::uint64_t, std::uint64_t>>(given);
    return dense_keys(table, first, rows);
  }
  return listed_keys(table, nb::cast<KeyArray>(given), pushes);
}

// Sums the gradients of repeated keys.
Rows gradients_of(const TableSpec& table, const CallKeys& keys, const FloatArray& grads) {
  const std::size_t dim = table.dim;
  const std::size_t last = grads.ndim() == 0 ? 1 : grads.shape(grads.ndim() - 1);
  if (grads.size() == keys.count() * dim && dim > 1 && grads.ndim() > 1 && last != dim) {
    raise({Code::kUsage,
           fmt::format("rows of {} floats pushed to table {}, expected rows of {}", last, table.name, dim)});
  }
  if (grads.size() != keys.count() * dim) {
    raise({Code::kUsage, fmt::format("{} floats pushed to table {}, expected {} for each of {} keys",
                                     grads.size(), table.name, dim, keys.count())});
  }
  if (keys.at.empty()) return Rows(std::vector<float>(grads.data(), grads.data() + grads.size()));
  std::vector<float> sums(keys.keys.size() * dim);
  for (std::size_t i = 0; i < keys.at.size(); ++i) {
    for (std::size_t d = 0; d < dim; ++d) sums[keys.at[i] * dim + d] += grads.data()[i * dim + d];
  }
  return Rows(std::move(sums));
}

NewArray<float, nb::ndim<2>> rows_as_given(const TableSpec& table, const CallKeys& keys, const Rows& rows) {
  const std::size_t dim = table.dim, count = keys.count();
  std::vector<float> out(count * dim);
  const auto span = rows.span();
  if (keys.at.empty()) std::copy(span.begin(), span.end(), out.begin());
  for (std::size_t i = 0; i < keys.at.size(); ++i) {
    std::copy_n(span.begin() + static_cast<std::ptrdiff_t>(keys.at[i] * dim), dim,
                out.begin() + static_cast<std::ptrdiff_t>(i * dim));
  }
  return array_of<NewArray<float, nb::ndim<2>>>(std::move(out), {count, dim});
}

class ShardHandle {
  // What is wrong with `timeout` is said before the GIL is let go.
  template <class Call>
  auto call(Seconds timeout, Call one) const {
    const BlockingStore::Timeout limit = timeout_of(timeout);
    return job_->in_turn(shard_, [&](Job& job) {
      BlockingStore store = job.shard(ShardId{shard_});
      return one(store, limit);
    });
  }

 public:
  ShardHandle(std::shared_ptr<SharedJob> job, std::uint32_t shard) : job_(std::move(job)), shard_(shard) {
    const std::uint32_t shards = job_->options.data_shards;
    if (shard >= shards)
      raise({Code::kUsage, fmt::format("data shard {}: expected one below {}", shard, shards)});
  }

  void push(std::uint16_t table, const nb::object& given, const FloatArray& grads, Seconds timeout) const {
    const TableSpec& spec = job_->table(table);
    const CallKeys keys = keys_of(spec, given, true);
    const Rows rows = gradients_of(spec, keys, grads);
    check(call(timeout, [&](BlockingStore& store, BlockingStore::Timeout limit) {
      return store.push(TableId{table}, keys.keys, rows, limit);
    }));
  }
  NewArray<float, nb::ndim<2>> pull(std::uint16_t table, const nb::object& given, bool looks,
                                    Seconds timeout) const {
    const TableSpec& spec = job_->table(table);
    const CallKeys keys = keys_of(spec, given, false);
    return rows_as_given(spec, keys,
                         value_of(call(timeout, [&](BlockingStore& store, BlockingStore::Timeout limit) {
                           return looks ? store.read(TableId{table}, keys.keys, limit)
                                        : store.pull(TableId{table}, keys.keys, limit);
                         })));
  }
  NewArray<float, nb::ndim<2>> push_pull(std::uint16_t table, const nb::object& given,
                                         const FloatArray& grads, Seconds timeout) const {
    const TableSpec& spec = job_->table(table);
    const CallKeys keys = keys_of(spec, given, true);
    const Rows rows = gradients_of(spec, keys, grads);
    return rows_as_given(spec, keys,
                         value_of(call(timeout, [&](BlockingStore& store, BlockingStore::Timeout limit) {
                           return store.push_pull(TableId{table}, keys.keys, rows, limit);
                         })));
  }
  template <Status (BlockingStore::*kEnd)(BlockingStore::Timeout)>
  void end(Seconds timeout) const {
    check(call(timeout,
               [&](BlockingStore& store, BlockingStore::Timeout limit) { return (store.*kEnd)(limit); }));
  }
  void barrier(std::uint32_t epoch, std::uint32_t index, Seconds timeout) const {
    check(call(timeout, [&](BlockingStore& store, BlockingStore::Timeout limit) {
      return store.barrier({epoch, index}, limit);
    }));
  }
  std::pair<std::uint32_t, std::uint32_t> step() const {
    const Step now = value_of(
        call({}, [](BlockingStore& store, BlockingStore::Timeout) { return Result<Step>(store.step()); }));
    return {now.epoch, now.index};
  }
  std::uint32_t shard() const { return shard_; }

 private:
  std::shared_ptr<SharedJob> job_;
  std::uint32_t shard_;
};

void set_numbers(const std::string& table, RuleSpec& rule, std::map<std::string, double> numbers) {
  std::vector<std::string_view> known;
  for_each_number(rule, [&](const char* name, float& number) {
    known.push_back(name);
    if (const auto given = numbers.extract(name)) number = static_cast<float>(given.mapped());
  });
  if (numbers.empty()) return;
  raise({Code::kUsage, fmt::format("number '{}' of the rule of table {}; expected {}", numbers.begin()->first,
                                   table, any_of_words(known))});
}

TableSpec make_table_spec(const std::string& name, std::uint32_t dim, std::uint64_t rows,
                          const std::string& rule, const std::map<std::string, double>& numbers,
                          const std::string& init, double scale, std::uint64_t seed) {
  TableSpec table;
  table.name = name;
  table.dim = dim;
  table.rows = rows;
  if (rows != 0) table.kind = TableSpec::Kind::kDense;
  const auto kind = rule_named(rule);
  if (!kind || *kind == RuleKind::kCustom) {
    const std::vector<std::string_view> names(kRuleNames.begin(), kRuleNames.end() - 1);
    raise({Code::kUsage, fmt::format("rule '{}' of table {}; expected {}", rule, name, any_of_words(names))});
  }
  table.rule.kind = *kind;
  set_numbers(name, table.rule, numbers);
  constexpr const char* kInits[] = {"zero", "uniform", "normal", "constant"};
  const auto found = std::find(std::begin(kInits), std::end(kInits), init);
  if (found == std::end(kInits)) {
    raise({Code::kUsage,
           fmt::format("init '{}' of table {}; expected zero, uniform, normal or constant", init, name)});
  }
  table.init = {static_cast<InitSpec::Kind>(found - std::begin(kInits)), static_cast<float>(scale), seed};
  return table;
}

Consistency consistency_of(const std::string& name, std::uint32_t bound) {
  if (name == "sync") return Consistency::sync();
  if (name == "async") return Consistency::async();
  if (name == "bounded") return Consistency::bounded(bound);
  raise({Code::kUsage, fmt::format("consistency '{}': expected sync, bounded:N or async", name)});
}

std::shared_ptr<SharedJob> start(std::vector<TableSpec> tables, std::uint32_t servers,
                                 std::uint32_t data_shards, const std::string& consistency,
                                 std::uint32_t bound, std::uint32_t threads, double timeout) {
  JobOptions options;
  options.tables = std::move(tables);
  options.servers = servers;
  options.data_shards = data_shards;
  options.workers = data_shards;
  options.consistency = consistency_of(consistency, bound);
  options.threads = threads;
  options.timeout = nanoseconds_of(timeout);
  auto job = std::make_shared<SharedJob>(options);
  job->start();
  return job;
}

std::pair<NewArray<Key, nb::ndim<1>>, NewArray<float, nb::ndim<2>>> scan(SharedJob& self,
                                                                         std::uint16_t table) {
  const std::size_t dim = self.table(table).dim;
  std::vector<Key> keys;
  std::vector<float> rows;
  check(self.in_turn(0, [&](Job& job) {
    return job.scan(TableId{table}, [&](Key key, std::span<const float> row) {
      keys.push_back(key);
      rows.insert(rows.end(), row.begin(), row.end());
    });
  }));
  const std::size_t count = keys.size();
  return {array_of<NewArray<Key, nb::ndim<1>>>(std::move(keys), {count}),
          array_of<NewArray<float, nb::ndim<2>>>(std::move(rows), {count, dim})};
}

}  // namespace

void bind_job(nb::module_& module) {
  nb::class_<TableSpec>(module, "TableSpec")
      .def_ro("name", &TableSpec::name)
      .def_ro("dim", &TableSpec::dim)
      .def_ro("rows", &TableSpec::rows);
  module.def("table_spec", &make_table_spec, nb::arg("name"), nb::arg("dim"), nb::arg("rows"),
             nb::arg("rule"), nb::arg("numbers"), nb::arg("init"), nb::arg("scale"), nb::arg("seed"));
  nb::class_<ShardHandle>(module, "Shard", "A data shard's calls.")
      .def_prop_ro("shard", &ShardHandle::shard)
      .def_prop_ro("step", &ShardHandle::step)
      .def("push", &ShardHandle::push, nb::arg("table"), nb::arg("keys"), nb::arg("grads"),
           nb::arg("timeout").none())
      .def("pull", &ShardHandle::pull, nb::arg("table"), nb::arg("keys"), nb::arg("looks"),
           nb::arg("timeout").none())
      .def("push_pull", &ShardHandle::push_pull, nb::arg("table"), nb::arg("keys"), nb::arg("grads"),
           nb::arg("timeout").none())
      .def("advance", &ShardHandle::end<&BlockingStore::advance>, nb::arg("timeout").none())
      .def("end_epoch", &ShardHandle::end<&BlockingStore::end_epoch>, nb::arg("timeout").none())
      .def("end_work", &ShardHandle::end<&BlockingStore::end_work>, nb::arg("timeout").none())
      .def("barrier", &ShardHandle::barrier, nb::arg("epoch"), nb::arg("index"), nb::arg("timeout").none());
  nb::class_<SharedJob>(module, "Job", "A job within this process.")
      .def_static("start", &start, nb::arg("tables"), nb::arg("servers"), nb::arg("data_shards"),
                  nb::arg("consistency"), nb::arg("bound"), nb::arg("threads"), nb::arg("timeout"))
      .def("shard", [](const std::shared_ptr<SharedJob>& self,
                       std::uint32_t shard) { return ShardHandle(self, shard); })
      .def("scan", &scan, nb::arg("table"))
      .def("stored",
           [](SharedJob& self) {
             const JobStats stats =
                 value_of(self.in_turn(0, [](Job& job) { return Result<JobStats>(job.stats()); }));
             return std::pair(stats.rows, stats.table_bytes);
           })
      .def("stop_calls", &SharedJob::stop_calls, nb::arg("stops"))
      .def("close", &SharedJob::close);
}

}  // namespace thalweg::python
