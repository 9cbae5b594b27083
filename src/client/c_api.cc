// The C interface over Group: checks what C cannot, and turns statuses into codes.
#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/c_api.h"
#include "net/group/form_group.h"

struct thalweg_prepared {
  thalweg::PreparedOperation operation;
};
struct thalweg_sparse_rows {
  thalweg::SparseRows sum;
};

namespace {

using namespace thalweg::c_api;  // NOLINT(google-build-using-namespace)
using thalweg::Code;
using thalweg::Status;

thread_local std::string last_message;

thalweg::Result<thalweg::GroupOptions> options_of(const thalweg_options* given) {
  if (!given || given->struct_bytes != sizeof(thalweg_options)) {
    return Status(Code::kUsage,
                  "thalweg_join: options.struct_bytes must be sizeof(thalweg_options) of this library, " +
                      std::to_string(sizeof(thalweg_options)));
  }
  if (!is_timeout(given->timeout_seconds)) {
    return Status(Code::kUsage, "thalweg_join: options.timeout_seconds must be 0 or above");
  }
  thalweg::GroupOptions options;
  options.rank = given->rank;
  options.size = given->size;
  if (given->master_host) options.master_host = given->master_host;
  if (given->master_port) options.master_port = given->master_port;
  if (given->listener) options.listener = given->listener;
  if (given->group) options.group = given->group;
  if (given->timeout_seconds > 0) options.timeout = nanoseconds_of(given->timeout_seconds);
  const auto transport = thalweg::parse_group_transport(given->transport ? given->transport : "auto");
  if (!transport) return Status(Code::kUsage, "thalweg_join: options." + transport.status().message());
  options.transport = *transport;
  options.insecure_no_auth = given->insecure_no_auth != 0;
  if (given->secret_file) options.secret_file = given->secret_file;
  if (given->costs_file) options.costs_file = given->costs_file;
  return options;
}

Status check(const thalweg_call* call) {
  if (!call || call->struct_bytes != sizeof(thalweg_call)) {
    return {Code::kUsage, "call.struct_bytes must be sizeof(thalweg_call) of this library, " +
                              std::to_string(sizeof(thalweg_call))};
  }
  if (static_cast<unsigned>(call->operation) > THALWEG_NEIGHBOURS) {
    return {Code::kUsage, "call.operation is " + std::to_string(call->operation) + "; expected 0 to 10"};
  }
  if (!is_type(call->type)) {
    return {Code::kUsage, "call.type is " + std::to_string(call->type) + "; expected 0 to 6"};
  }
  if (!is_reduction(call->reduction)) {
    return {Code::kUsage, "call.reduction is " + std::to_string(call->reduction) + "; expected 0 to 7"};
  }
  if (call->monoid && (!call->monoid->combine || call->monoid->element_bytes == 0)) {
    return {Code::kUsage, "call.monoid needs a function and a size of its elements"};
  }
  if (!call->neighbours && call->neighbour_count != 0) {
    return {Code::kUsage, "call.neighbour_count is " + std::to_string(call->neighbour_count) +
                              ", and call.neighbours is null"};
  }
  if (!is_timeout(call->timeout_seconds)) return {Code::kUsage, "call.timeout_seconds must be 0 or above"};
  return thalweg::ok_status();
}

thalweg::Result<thalweg::GroupCall> group_call_of(const thalweg::Group& group, const thalweg_call* given) {
  if (Status status = check(given); !status.ok()) return status;
  thalweg::GroupCall call;
  call.operation = static_cast<thalweg::Operation>(given->operation);
  call.in = given->in;
  call.out = given->out;
  call.count = given->count;
  call.type = static_cast<thalweg::DataType>(given->type);
  call.combine = static_cast<thalweg::Reduction>(given->reduction);
  if (given->monoid) {
    const thalweg_monoid& own = *given->monoid;
    call.combine = thalweg::Monoid{own.name ? own.name : "", own.element_bytes, own.combine, own.context,
                                   own.ordered == 0};
  }
  call.root = given->root;
  call.peer = given->peer;
  call.neighbours = {given->neighbours, given->neighbour_count};
  if (given->counts) call.counts = {given->counts, group.size()};
  if (given->counts_out) call.counts_out = {given->counts_out, group.size()};
  if (given->route) {
    auto route =
        thalweg::RouteChoice::named(given->route, {given->piece_bytes, std::max(given->channels, 1U)});
    if (!route) return route.status();
    call.route = *std::move(route);
  } else if (given->piece_bytes != 0 || given->channels != 0) {
    return Status(Code::kUsage,
                  "call.piece_bytes and call.channels tune a route; expected call.route as well");
  }
  call.timeout = nanoseconds_of(given->timeout_seconds);
  return call;
}

thalweg_call call_of(thalweg_operation operation, const void* in, void* out, size_t count,
                     thalweg_type type) {
  thalweg_call call{};
  call.struct_bytes = sizeof call;
  call.operation = operation;
  call.in = in;
  call.out = out;
  call.count = count;
  call.type = type;
  return call;
}

// body(T) of the floating-point type T.
template <class Body>
thalweg_code with_float(thalweg_type type, const char* function, const Body& body) {
  return guarded([&] {
    if (type == THALWEG_F32) return body(float{});
    if (type == THALWEG_F64) return body(double{});
    return wrong(std::string(function) + ": expected elements of type THALWEG_F32 or THALWEG_F64");
  });
}

template <class T>
std::vector<const T*> vectors_of(const void* const* contributions, std::size_t vectors) {
  std::vector<const T*> all;
  for (std::size_t i = 0; i < vectors; ++i) all.push_back(static_cast<const T*>(contributions[i]));
  return all;
}

// body(sum, options) where there is something to do; a sum that is made for it stays if it succeeds.
template <class Body>
thalweg_code with_sparse(const thalweg_group* group, std::span<const uint64_t> keys,
                         std::span<const float> rows, thalweg_sparse_rows** sum, thalweg_reduction reduction,
                         const Body& body) {
  if (!group || !sum || (!keys.data() && !keys.empty()) || (!rows.data() && !rows.empty()))
    return wrong("a sparse all-reduce: expected a group, keys and rows, and where to put the sum");
  if (!is_reduction(reduction)) return wrong("a sparse all-reduce: the reduction is unknown");
  return guarded([&] {
    std::unique_ptr<thalweg_sparse_rows> made;
    if (!*sum) made = std::make_unique<thalweg_sparse_rows>();
    thalweg::SparseOptions options;
    options.reduction = static_cast<thalweg::Reduction>(reduction);
    const thalweg_code code = body((*sum ? *sum : made.get())->sum, options);
    if (code == THALWEG_OK && made) *sum = made.release();
    return code;
  });
}

thalweg_code begun(thalweg::GroupWork work, thalweg_work** where) {
  *where = new thalweg_work{std::move(work)};
  return THALWEG_OK;
}

}  // namespace

thalweg_code thalweg::c_api::report(const Status& status) {
  if (status.ok()) return THALWEG_OK;
  last_message = status.message();
  return static_cast<thalweg_code>(status.code());
}

uint32_t thalweg_abi_version(void) { return THALWEG_ABI_VERSION; }
const char* thalweg_message(void) { return last_message.c_str(); }

thalweg_code thalweg_options_from(char* (*variable)(const char* name), thalweg_options* options) {
  if (!variable || !options)
    return wrong("thalweg_options_from: expected a function, such as getenv, and options");
  return guarded([&] {
    auto found = thalweg::group_options_from(variable);
    if (!found) return report(found.status());
    static thread_local std::string host, secret_file, costs_file;
    host = found->master_host;
    secret_file = found->secret_file;
    costs_file = found->costs_file;
    *options = {};
    options->struct_bytes = sizeof *options;
    options->rank = found->rank;
    options->size = found->size;
    options->master_host = host.c_str();
    options->master_port = found->master_port;
    options->listener = std::max(found->listener, 0);
    options->transport = thalweg::group_transport_name(found->transport);
    options->insecure_no_auth = found->insecure_no_auth ? 1 : 0;
    if (!secret_file.empty()) options->secret_file = secret_file.c_str();
    if (!costs_file.empty()) options->costs_file = costs_file.c_str();
    return THALWEG_OK;
  });
}

thalweg_code thalweg_join(const thalweg_options* options, thalweg_group** group) {
  if (!group) return wrong("thalweg_join: expected where to put the group");
  *group = nullptr;
  return guarded([&] {
    auto how = options_of(options);
    if (!how) return report(how.status());
    auto joined = thalweg::Group::join(*how);
    if (!joined) return report(joined.status());
    *group = new thalweg_group{*std::move(joined)};
    return THALWEG_OK;
  });
}

void thalweg_leave(thalweg_group* group) { delete group; }
uint32_t thalweg_rank(const thalweg_group* group) { return group->group.rank(); }
uint32_t thalweg_size(const thalweg_group* group) { return group->group.size(); }

thalweg_code thalweg_status(const thalweg_group* group) {
  if (!group) return wrong("thalweg_status: expected a group");
  return guarded([&] { return report(group->group.status()); });
}

thalweg_code thalweg_split(thalweg_group* group, int32_t colour, int64_t key, thalweg_group** child) {
  if (!group || !child) return wrong("thalweg_split: expected a group and where to put the new one");
  *child = nullptr;
  return guarded([&] {
    auto made = group->group.split(colour, key);
    if (!made) return report(made.status());
    if (*made) *child = new thalweg_group{std::move(**made)};
    return THALWEG_OK;
  });
}

thalweg_code thalweg_regroup(thalweg_group* group, thalweg_group** anew) {
  if (!group || !anew) return wrong("thalweg_regroup: expected a group and where to put the new one");
  *anew = nullptr;
  return guarded([&] {
    auto made = group->group.regroup();
    if (!made) return report(made.status());
    *anew = new thalweg_group{*std::move(made)};
    return THALWEG_OK;
  });
}

void thalweg_part(const thalweg_group* group, size_t count, uint32_t rank, size_t* begin,
                  size_t* part_count) {
  const thalweg::Group::Part part = group->group.part(count, rank);
  if (begin) *begin = part.begin;
  if (part_count) *part_count = part.count;
}

thalweg_code thalweg_run(thalweg_group* group, const thalweg_call* call) {
  if (!group) return wrong("thalweg_run: expected a group");
  return guarded([&] {
    auto made = group_call_of(group->group, call);
    return report(made ? group->group.run(*made) : made.status());
  });
}

thalweg_code thalweg_start(thalweg_group* group, const thalweg_call* call, thalweg_work** work) {
  if (!group || !work) return wrong("thalweg_start: expected a group and where to put the work");
  *work = nullptr;
  return guarded([&] {
    auto made = group_call_of(group->group, call);
    if (!made) return report(made.status());
    return begun(group->group.start(*made), work);
  });
}

int thalweg_done(const thalweg_work* work) { return !work || work->work.done(); }

thalweg_code thalweg_wait(thalweg_work* work) {
  if (!work) return THALWEG_OK;
  return guarded([&] {
    const Status ended = work->work.wait();
    delete work;
    return report(ended);
  });
}

thalweg_code thalweg_prepare(thalweg_group* group, const thalweg_call* call, thalweg_prepared** prepared) {
  if (!group || !prepared)
    return wrong("thalweg_prepare: expected a group and where to put what is prepared");
  *prepared = nullptr;
  return guarded([&] {
    auto made = group_call_of(group->group, call);
    if (!made) return report(made.status());
    auto operation = group->group.prepare(*made);
    if (!operation) return report(operation.status());
    *prepared = new thalweg_prepared{*std::move(operation)};
    return THALWEG_OK;
  });
}

thalweg_code thalweg_run_prepared(thalweg_prepared* prepared) {
  if (!prepared) return wrong("thalweg_run_prepared: expected what is prepared");
  return guarded([&] { return report(prepared->operation.run()); });
}

thalweg_code thalweg_start_prepared(thalweg_prepared* prepared, thalweg_work** work) {
  if (!prepared || !work)
    return wrong("thalweg_start_prepared: expected what is prepared and where to put the work");
  *work = nullptr;
  return guarded([&] { return begun(prepared->operation.start(), work); });
}

void thalweg_free_prepared(thalweg_prepared* prepared) { delete prepared; }

thalweg_code thalweg_all_reduce(thalweg_group* group, const void* in, void* out, size_t count,
                                thalweg_type type, thalweg_reduction reduction) {
  thalweg_call call = call_of(THALWEG_ALL_REDUCE, in, out, count, type);
  call.reduction = reduction;
  return thalweg_run(group, &call);
}

thalweg_code thalweg_broadcast(thalweg_group* group, void* data, size_t count, thalweg_type type,
                               uint32_t root) {
  thalweg_call call = call_of(THALWEG_BROADCAST, data, data, count, type);
  call.root = root;
  return thalweg_run(group, &call);
}

thalweg_code thalweg_barrier(thalweg_group* group) {
  if (!group) return wrong("thalweg_barrier: expected a group");
  return guarded([&] { return report(group->group.barrier()); });
}

thalweg_code thalweg_send(thalweg_group* group, const void* data, size_t count, thalweg_type type,
                          uint32_t to) {
  if (!group) return wrong("thalweg_send: expected a group");
  thalweg_call call = call_of(THALWEG_POINT_TO_POINT, data, nullptr, count, type);
  call.root = thalweg_rank(group);
  call.peer = to;
  return thalweg_run(group, &call);
}

thalweg_code thalweg_receive(thalweg_group* group, void* data, size_t count, thalweg_type type,
                             uint32_t from) {
  if (!group) return wrong("thalweg_receive: expected a group");
  thalweg_call call = call_of(THALWEG_POINT_TO_POINT, nullptr, data, count, type);
  call.root = from;
  call.peer = thalweg_rank(group);
  return thalweg_run(group, &call);
}

thalweg_code thalweg_exchange_with(thalweg_group* group, const uint32_t* neighbours, size_t neighbour_count,
                                   const void* in, void* out, size_t count, thalweg_type type) {
  thalweg_call call = call_of(THALWEG_NEIGHBOURS, in, out, count, type);
  call.neighbours = neighbours;
  call.neighbour_count = neighbour_count;
  return thalweg_run(group, &call);
}

thalweg_code thalweg_weighted_mean(thalweg_group* group, const void* in, void* out, size_t count,
                                   thalweg_type type, double weight) {
  if (!group) return wrong("thalweg_weighted_mean: expected a group");
  return with_float(type, "thalweg_weighted_mean", [&]<class T>(T) {
    return report(group->group.weighted_mean<T>({static_cast<const T*>(in), count},
                                                {static_cast<T*>(out), count}, weight));
  });
}

thalweg_code thalweg_start_weighted_mean(thalweg_group* group, const void* in, void* out, size_t count,
                                         thalweg_type type, double weight, thalweg_work** work) {
  if (!group || !work)
    return wrong("thalweg_start_weighted_mean: expected a group and where to put the work");
  *work = nullptr;
  return with_float(type, "thalweg_start_weighted_mean", [&]<class T>(T) {
    return begun(group->group.weighted_mean_async<T>({static_cast<const T*>(in), count},
                                                     {static_cast<T*>(out), count}, weight),
                 work);
  });
}

thalweg_code thalweg_reproducible_sum(thalweg_group* group, const void* const* contributions, size_t vectors,
                                      void* out, size_t count, thalweg_type type) {
  if (!group || (!contributions && vectors > 0))
    return wrong("thalweg_reproducible_sum: expected a group and contributions");
  return with_float(type, "thalweg_reproducible_sum", [&]<class T>(T) {
    return report(group->group.reproducible_sum<T>(vectors_of<T>(contributions, vectors),
                                                   std::span(static_cast<T*>(out), count)));
  });
}

thalweg_code thalweg_start_reproducible_sum(thalweg_group* group, const void* const* contributions,
                                            size_t vectors, void* out, size_t count, thalweg_type type,
                                            thalweg_work** work) {
  if (!group || !work || (!contributions && vectors > 0))
    return wrong("thalweg_start_reproducible_sum: expected a group, contributions and where to put the work");
  *work = nullptr;
  return with_float(type, "thalweg_start_reproducible_sum", [&]<class T>(T) {
    return begun(group->group.reproducible_sum_async<T>(vectors_of<T>(contributions, vectors),
                                                        std::span(static_cast<T*>(out), count)),
                 work);
  });
}

thalweg_code thalweg_all_reduce_sparse(thalweg_group* group, const uint64_t* keys, const float* rows,
                                       size_t count, size_t dim, thalweg_reduction reduction,
                                       thalweg_sparse_rows** sum) {
  return with_sparse(
      group, {keys, count}, {rows, count * dim}, sum, reduction,
      [&](thalweg::SparseRows& into, const thalweg::SparseOptions& options) {
        return report(group->group.all_reduce_sparse({keys, count}, {rows, count * dim}, dim, into, options));
      });
}

thalweg_code thalweg_start_all_reduce_sparse(thalweg_group* group, const uint64_t* keys, const float* rows,
                                             size_t count, size_t dim, thalweg_reduction reduction,
                                             thalweg_sparse_rows** sum, thalweg_work** work) {
  if (!work) return wrong("thalweg_start_all_reduce_sparse: expected where to put the work");
  *work = nullptr;
  return with_sparse(group, {keys, count}, {rows, count * dim}, sum, reduction,
                     [&](thalweg::SparseRows& into, const thalweg::SparseOptions& options) {
                       return begun(group->group.all_reduce_sparse_async({keys, count}, {rows, count * dim},
                                                                         dim, into, options),
                                    work);
                     });
}

size_t thalweg_sparse_count(const thalweg_sparse_rows* sum) { return sum->sum.keys.size(); }
const uint64_t* thalweg_sparse_keys(const thalweg_sparse_rows* sum) { return sum->sum.keys.data(); }
const float* thalweg_sparse_values(const thalweg_sparse_rows* sum) { return sum->sum.rows.data(); }
void thalweg_sparse_free(thalweg_sparse_rows* sum) { delete sum; }

void* thalweg_allocate(thalweg_group* group, size_t bytes) {
  if (!group) return wrong("thalweg_allocate: expected a group"), nullptr;
  void* memory = nullptr;
  static_cast<void>(guarded([&] {
    auto made = group->group.allocate_bytes(bytes);
    if (!made) return report(made.status());
    memory = *made;
    return THALWEG_OK;
  }));
  return memory;
}

void thalweg_free(thalweg_group* group, void* memory) {
  if (group && memory) group->group.free(memory);
}
