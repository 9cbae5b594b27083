// Groups of ranks: operations on arrays in place, run or started.
#include "thalweg/group.h"
#include "gil.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "bindings.h"
#include "errors.h"
#include "group_call.h"
#include "new_array.h"
#include "seconds.h"

namespace nb = nanobind;

namespace thalweg::python {
namespace {

// A group that its works and its memory keep; its calls take turns. Its last owner is Python, with the GIL.
struct SharedGroup {
  explicit SharedGroup(Group its_group) : group(std::move(its_group)) {}
  ~SharedGroup() {
    const WithoutGil no_gil;  // Other ranks may be threads that need it to come to their end.
    const Group gone = std::move(group);
  }

  // Without the GIL.
  template <class Call>
  auto in_turn(Call call) {
    const WithoutGil no_gil;
    const std::lock_guard lock(turn);
    return call(group);
  }

  Group group;
  std::mutex turn;
};
using GroupRef = std::shared_ptr<SharedGroup>;

GroupRef shared(Group group) { return std::make_shared<SharedGroup>(std::move(group)); }

// An operation that was started, with all that it works on.
class Work {
 public:
  Work(GroupRef group, std::unique_ptr<HeldCall> held, GroupWork work)
      : group_(std::move(group)), held_(std::move(held)), work_(std::move(work)) {}
  Work(Work&&) = default;
  ~Work() {
    if (held_ == nullptr) return;
    const WithoutGil no_gil;
    const Status ended = work_.wait();
    static_cast<void>(ended);  // Whoever wants to know has waited.
  }
  bool done() const { return work_.done(); }
  void wait() {
    Status status;
    {
      const WithoutGil no_gil;
      status = work_.wait();
    }
    check(status);
  }

 private:
  GroupRef group_;
  std::unique_ptr<HeldCall> held_;
  GroupWork work_;
};

GroupRef join(std::optional<std::uint32_t> rank, std::optional<std::uint32_t> size,
              const std::optional<std::string>& host, std::optional<std::uint16_t> port,
              const std::string& transport, std::optional<double> timeout,
              const std::optional<std::string>& name) {
  GroupOptions options =
      value_of(group_options_from([](const char* variable) { return std::getenv(variable); }));
  if (rank) options.rank = *rank;
  if (size) options.size = *size;
  if (host) options.master_host = *host;
  if (port) options.master_port = *port;
  if (host || port) options.listener = -1;  // What listens already does so elsewhere.
  if (timeout) options.timeout = nanoseconds_of(*timeout);
  if (name) options.group = *name;
  constexpr std::pair<const char*, GroupTransport> kTransports[] = {{"auto", GroupTransport::kAuto},
                                                                    {"shm", GroupTransport::kShm},
                                                                    {"tcp", GroupTransport::kTcp},
                                                                    {"ucx", GroupTransport::kUcx}};
  bool known = transport.empty();  // As the environment says.
  for (const auto& [word, kind] : kTransports) {
    if (transport == word) options.transport = kind, known = true;
  }
  if (!known) raise({Code::kUsage, fmt::format("transport '{}'; expected auto, shm, tcp or ucx", transport)});
  auto group = [&] {
    const WithoutGil no_gil;
    return Group::join(options);
  }();
  return shared(value_of(std::move(group)));
}

std::vector<GroupRef> in_process(std::uint32_t size, double timeout) {
  if (size == 0 || size > limits::kGroupRanksMax) {
    raise({Code::kUsage, fmt::format("{} ranks; expected 1 to {}", size, limits::kGroupRanksMax)});
  }
  std::vector<GroupRef> ranks;
  for (Group& group : Group::in_process(size, nanoseconds_of(timeout)))
    ranks.push_back(shared(std::move(group)));
  return ranks;
}

CallWords words_of(std::string reduction, std::uint32_t root, std::uint32_t peer,
                   std::vector<std::size_t> counts, std::vector<std::size_t> counts_out,
                   std::vector<std::uint32_t> neighbours, std::string route, std::size_t piece_bytes,
                   std::uint32_t channels, double timeout) {
  return {std::move(reduction),
          root,
          peer,
          std::move(counts),
          std::move(counts_out),
          std::move(neighbours),
          std::move(route),
          piece_bytes,
          channels,
          timeout};
}

void run(const GroupRef& self, const std::string& operation, std::optional<InArray> in,
         std::optional<OutArray> out, const CallWords& words) {
  const auto held = held_call(self->group, operation, std::move(in), std::move(out), words);
  check(self->in_turn([&](Group& group) { return group.run(held->call); }));
}

Work start(const GroupRef& self, const std::string& operation, std::optional<InArray> in,
           std::optional<OutArray> out, const CallWords& words) {
  auto held = held_call(self->group, operation, std::move(in), std::move(out), words);
  GroupWork work = self->in_turn([&](Group& group) { return group.start(held->call); });
  return Work(self, std::move(held), std::move(work));
}

void weighted_mean(const GroupRef& self, const OutArray& data, double weight) {
  const auto held = held_call(self->group, "all_reduce", InArray(data), data, {});
  const auto mean = [&]<class T>(T* values) {
    const std::span<T> span(values, data.size());
    return self->in_turn([&](Group& group) { return group.weighted_mean<T>(span, span, weight); });
  };
  if (held->call.type == DataType::kF32) return check(mean(static_cast<float*>(data.data())));
  if (held->call.type == DataType::kF64) return check(mean(static_cast<double*>(data.data())));
  raise({Code::kUsage, "a weighted mean is of float32 or float64"});
}

using SparseKeys = nb::ndarray<nb::ro, const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SparseValues = nb::ndarray<nb::ro, const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::pair<NewArray<std::uint64_t, nb::ndim<1>>, NewArray<float, nb::ndim<2>>> all_reduce_sparse(
    const GroupRef& self, const SparseKeys& keys, const SparseValues& rows, bool mean) {
  if (rows.shape(0) != keys.size()) raise({Code::kUsage, "rows: expected one for each key"});
  const std::size_t dim = rows.shape(1);
  SparseOptions options;
  if (mean) options.reduction = Reduction::kMean;
  SparseRows sum;
  check(self->in_turn([&](Group& group) {
    return group.all_reduce_sparse({keys.data(), keys.size()}, {rows.data(), rows.size()}, dim, sum, options);
  }));
  const std::size_t count = sum.keys.size();
  return {array_of<NewArray<std::uint64_t, nb::ndim<1>>>(std::move(sum.keys), {count}),
          array_of<NewArray<float, nb::ndim<2>>>(std::move(sum.rows), {count, dim})};
}

std::optional<GroupRef> split(const GroupRef& self, std::int32_t colour, std::int64_t key) {
  std::optional<Group> part = value_of(self->in_turn([&](Group& group) { return group.split(colour, key); }));
  return part ? std::optional(shared(*std::move(part))) : std::nullopt;
}

GroupRef regroup(const GroupRef& self) {
  return shared(value_of(self->in_turn([](Group& group) { return group.regroup(); })));
}

NewArray<std::uint8_t, nb::ndim<1>> allocate(const GroupRef& self, std::size_t bytes) {
  void* const memory = value_of(self->in_turn([&](Group& group) { return group.allocate_bytes(bytes); }));
  struct Memory {
    GroupRef group;
    void* bytes;
  };
  const nb::capsule owner(new Memory{self, memory}, [](void* p) noexcept {
    const std::unique_ptr<Memory> freed(static_cast<Memory*>(p));
    freed->group->in_turn([&](Group& group) { group.free(freed->bytes); });
  });
  return NewArray<std::uint8_t, nb::ndim<1>>(memory, {bytes}, owner);
}

}  // namespace

void bind_group(nb::module_& module) {
  nb::class_<Work>(module, "Work", "An operation under way, which keeps its arrays.")
      .def_prop_ro("done", &Work::done)
      .def("wait", &Work::wait, "Returns when it has ended; raises what went wrong.");
  nb::class_<CallWords>(module, "CallWords")
      .def(nb::new_(&words_of), nb::arg("reduction") = "sum", nb::arg("root") = 0, nb::arg("peer") = 0,
           nb::arg("counts") = std::vector<std::size_t>(), nb::arg("counts_out") = std::vector<std::size_t>(),
           nb::arg("neighbours") = std::vector<std::uint32_t>(), nb::arg("route") = "",
           nb::arg("piece_bytes") = 0, nb::arg("channels") = 1, nb::arg("timeout") = 0.0);
  nb::class_<SharedGroup>(module, "Group", "This rank's membership.")
      .def_static("join", &join, nb::arg("rank").none(), nb::arg("size").none(), nb::arg("host").none(),
                  nb::arg("port").none(), nb::arg("transport"), nb::arg("timeout").none(),
                  nb::arg("name").none())
      .def_static("in_process", &in_process, nb::arg("size"), nb::arg("timeout"))
      .def_prop_ro("rank", [](const SharedGroup& self) { return self.group.rank(); })
      .def_prop_ro("size", [](const SharedGroup& self) { return self.group.size(); })
      .def_prop_ro("bytes_sent", [](const SharedGroup& self) { return self.group.bytes_sent(); })
      .def(
          "part",
          [](const SharedGroup& self, std::size_t count, std::uint32_t rank) {
            if (rank >= self.group.size()) {
              raise({Code::kUsage,
                     fmt::format("rank {}: expected one of a group of {}", rank, self.group.size())});
            }
            const Group::Part part = self.group.part(count, rank);
            return std::pair(part.begin, part.count);
          },
          nb::arg("count"), nb::arg("rank"))
      .def("run", &run, nb::arg("operation"), nb::arg("data").none(), nb::arg("out").none(), nb::arg("words"))
      .def("start", &start, nb::arg("operation"), nb::arg("data").none(), nb::arg("out").none(),
           nb::arg("words"))
      .def("weighted_mean", &weighted_mean, nb::arg("data"), nb::arg("weight"))
      .def("all_reduce_sparse", &all_reduce_sparse, nb::arg("keys"), nb::arg("rows"), nb::arg("mean"))
      .def("split", &split, nb::arg("colour"), nb::arg("key"))
      .def("regroup", &regroup)
      .def("allocate", &allocate, nb::arg("bytes"));
}

}  // namespace thalweg::python
