// The C interface over Group: checks what C cannot, and turns statuses into codes.
#include <chrono>
#include <cmath>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "net/form_group.h"
#include "thalweg/group.h"
#include "thalweg/thalweg.h"

struct thalweg_group {
  thalweg::Group group;
};
struct thalweg_work {
  thalweg::GroupWork work;
};

namespace {

using thalweg::Code;
using thalweg::Status;

thread_local std::string last_message;

thalweg_code report(const Status& status) {
  if (status) return THALWEG_OK;
  last_message = status.message();
  return static_cast<thalweg_code>(status.code());
}
thalweg_code wrong(std::string what) { return report(Status(Code::kUsage, std::move(what))); }

// C callers cannot catch: what is thrown here (no memory) becomes a status.
template <class Body>
thalweg_code guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    return report(Status(Code::kIo, std::string("out of resources: ") + error.what()));
  }
}

std::chrono::nanoseconds nanoseconds_of(double seconds) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
}
// Up to ten years, which fit.
bool is_timeout(double seconds) { return std::isfinite(seconds) && seconds >= 0 && seconds < 3.2e8; }

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
  if (given->group) options.group = given->group;
  if (given->timeout_seconds > 0) options.timeout = nanoseconds_of(given->timeout_seconds);
  const auto transport = thalweg::parse_group_transport(given->transport ? given->transport : "auto");
  if (!transport) return Status(Code::kUsage, "thalweg_join: options." + transport.status().message());
  options.transport = *transport;
  return options;
}

Status check(const thalweg_call* call) {
  if (!call || call->struct_bytes != sizeof(thalweg_call)) {
    return {Code::kUsage, "call.struct_bytes must be sizeof(thalweg_call) of this library, " +
                              std::to_string(sizeof(thalweg_call))};
  }
  if (static_cast<unsigned>(call->operation) > THALWEG_POINT_TO_POINT) {
    return {Code::kUsage, "call.operation is " + std::to_string(call->operation) + "; expected 0 to 9"};
  }
  if (static_cast<unsigned>(call->type) > THALWEG_U64) {
    return {Code::kUsage, "call.type is " + std::to_string(call->type) + "; expected 0 to 6"};
  }
  if (static_cast<unsigned>(call->reduction) > THALWEG_REPRODUCIBLE_SUM) {
    return {Code::kUsage, "call.reduction is " + std::to_string(call->reduction) + "; expected 0 to 7"};
  }
  if (call->monoid && (!call->monoid->combine || call->monoid->element_bytes == 0)) {
    return {Code::kUsage, "call.monoid needs a function and a size of its elements"};
  }
  if (!is_timeout(call->timeout_seconds)) return {Code::kUsage, "call.timeout_seconds must be 0 or above"};
  return Status::ok();
}

thalweg::Result<thalweg::GroupCall> group_call_of(const thalweg::Group& group, const thalweg_call* given) {
  if (Status status = check(given); !status) return status;
  thalweg::GroupCall call;
  call.operation = static_cast<thalweg::Operation>(given->operation);
  call.in = given->in;
  call.out = given->out;
  call.count = given->count;
  call.type = static_cast<thalweg::DataType>(given->type);
  call.combine = static_cast<thalweg::Reduction>(given->reduction);
  if (given->monoid) {
    const thalweg_monoid& own = *given->monoid;
    call.combine = thalweg::Monoid{own.name ? own.name : "", own.element_bytes, own.combine, own.context};
  }
  call.root = given->root;
  call.peer = given->peer;
  if (given->counts) call.counts = {given->counts, group.size()};
  if (given->counts_out) call.counts_out = {given->counts_out, group.size()};
  if (given->route) {
    auto route = thalweg::RouteChoice::named(given->route);
    if (!route) return route.status();
    call.route = *std::move(route);
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

}  // namespace

uint32_t thalweg_abi_version(void) { return THALWEG_ABI_VERSION; }
const char* thalweg_message(void) { return last_message.c_str(); }

thalweg_code thalweg_options_from(char* (*variable)(const char* name), thalweg_options* options) {
  if (!variable || !options)
    return wrong("thalweg_options_from: expected a function, such as getenv, and options");
  return guarded([&] {
    auto found = thalweg::group_options_from(variable);
    if (!found) return report(found.status());
    static thread_local std::string host;
    host = found->master_host;
    *options = {};
    options->struct_bytes = sizeof *options;
    options->rank = found->rank;
    options->size = found->size;
    options->master_host = host.c_str();
    options->master_port = found->master_port;
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
    *work = new thalweg_work{group->group.start(*made)};
    return THALWEG_OK;
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
