// The part of Scheduler that another one is to know to take its job up. Times are this process's own and are
// not in it: whoever takes up counts from then on.
// Grammar, little-endian: version:u32 cluster:u64 map:text copies:u32 workers:u32 placed:u8 members barriers
// ended changes
//   checkpoint_number:u64 newest:u8 step failovers stopped:u8 code:u8 message:text
#include <fmt/format.h>

#include "base/limits.h"
#include "base/planted.h"
#include "scheduler/scheduler.h"
#include "staleness/step_policy.h"
#include "wire/step_codec.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kImageVersion = 3;
constexpr std::size_t kTextMax = limits::kControlBytesMax;

void put_node(Writer& to, NodeId node) { to.put(node.role).put(node.index); }

NodeId get_node(Reader& from) {
  const auto role = from.get<std::uint8_t>();
  if (role > static_cast<std::uint8_t>(Role::kWorker)) from.fail();
  return {static_cast<Role>(role), from.get<std::uint32_t>()};
}

Combining combining_of(const SchedulerOptions& options) {
  return step_policy(options.consistency)->combines() ? options.combine : Combining::none();
}

std::string words_of(Combining combine) {
  switch (combine.kind) {
    case Combining::Kind::kNone:
      return "nobody";
    case Combining::Kind::kMachine:
      return "machine";
    case Combining::Kind::kTree:
      return fmt::format("tree:{}", combine.arity);
    case Combining::Kind::kTreeBothWays:
      return fmt::format("tree:{}, both ways", combine.arity);
  }
  return {};
}

void put_ranges(Writer& to, const RangeSet& ranges) {
  to.put(static_cast<std::uint32_t>(ranges.runs().size()));
  for (const RangeSpan run : ranges.runs()) to.put(run.begin).put(run.end);
}

RangeSet get_ranges(Reader& from) {
  RangeSet ranges;
  for (std::uint32_t left = from.get_count(1u << 16, 4); left > 0 && from.ok(); --left) {
    const auto begin = from.get<std::uint16_t>();
    const auto end = from.get<std::uint16_t>();
    if (begin >= end) return from.fail(), RangeSet();
    ranges.add({begin, end});
  }
  return ranges;
}

template <class Items, class Put>
void put_each(Writer& to, const Items& items, const Put& put) {
  to.put(static_cast<std::uint32_t>(items.size()));
  for (const auto& item : items) put(item);
}

template <class Get>
void get_each(Reader& from, std::size_t bytes, const Get& get) {
  for (std::uint32_t left = from.get_count(~0u, bytes); left > 0 && from.ok(); --left) get();
}

void put_tables(Writer& to, const std::vector<RangeSet>& tables) {
  put_each(to, tables, [&](const RangeSet& ranges) { put_ranges(to, ranges); });
}

std::vector<RangeSet> get_tables(Reader& from, std::size_t tables) {
  std::vector<RangeSet> sets;
  get_each(from, 4, [&] { sets.push_back(get_ranges(from)); });
  if (sets.size() != tables) from.fail();
  return sets;
}

void put_servers(Writer& to, const std::set<std::uint32_t>& servers) {
  put_each(to, servers, [&](std::uint32_t server) { to.put(server); });
}

std::set<std::uint32_t> get_servers(Reader& from) {
  std::set<std::uint32_t> servers;
  get_each(from, 4, [&] { servers.insert(from.get<std::uint32_t>()); });
  return servers;
}

Drain get_drain(Instant now, Reader& from, std::size_t tables) {
  Drain drain;
  drain.begun = drain.ended = now;
  drain.asker = get_node(from);
  drain.request = from.get<std::uint32_t>();
  drain.ranges = from.get<std::uint32_t>();
  drain.copied = from.get<std::uint32_t>();
  drain.uncopied = get_tables(from, tables);
  drain.to = get_servers(from);
  const auto phase = from.get<std::uint8_t>();
  if (phase > static_cast<std::uint8_t>(Drain::Phase::kFailed)) from.fail();
  drain.phase = static_cast<Drain::Phase>(phase);
  const auto code = static_cast<Code>(from.get<std::uint8_t>());
  drain.why = {code, from.get_text(kTextMax)};
  return drain;
}

}  // namespace

// The observer is of the scheduler's process, and comes again with the next one.
void Scheduler::put_members(Writer& to) const {
  const auto kept =
      std::count_if(members_.begin(), members_.end(), [](const auto& one) { return !one.second.observer; });
  to.put(static_cast<std::uint32_t>(kept));
  for (const auto& [id, member] : members_) {
    if (member.observer) continue;
    put_node(to, id);
    put_node(to, member.temporary);
    const bool ended = member.left && member.stop_seen;
    for (const bool flag : {member.named, member.lost, member.left, member.dead, member.proven, ended,
                            member.turned_away.has_value()})
      to.put(static_cast<std::uint8_t>(flag));
    if (member.turned_away) to.put(member.turned_away->code()).put_text(member.turned_away->message());
    to.put_text(member.address).put_text(member.name).put_text(member.machine).put(member.pid);
  }
}

void Scheduler::get_members(Instant now, Reader& from) {
  get_each(from, 33, [&] {
    const NodeId id = get_node(from);
    Member member;
    member.temporary = get_node(from);
    for (bool* const flag :
         {&member.named, &member.lost, &member.left, &member.dead, &member.proven, &member.stop_seen})
      *flag = from.get<std::uint8_t>() != 0;
    if (from.get<std::uint8_t>() != 0) {
      const auto code = static_cast<Code>(from.get<std::uint8_t>());
      member.turned_away = Status(code, from.get_text(kTextMax));
    }
    member.address = from.get_text(limits::kNameBytesMax);
    member.name = from.get_text(limits::kNameBytesMax);
    member.machine = from.get_text(limits::kNameBytesMax);
    member.pid = from.get<std::uint32_t>();
    member.heard = now;
    members_[id] = std::move(member);
  });
}

// Servers that come, leave, or are lost.
void Scheduler::put_changes(Writer& to) const {
  put_each(to, drains_, [&](const auto& one) {
    const auto& [server, drain] = one;
    to.put(server);
    put_node(to, drain.asker);
    to.put(drain.request).put(drain.ranges).put(drain.copied);
    put_tables(to, drain.uncopied);
    put_servers(to, drain.to);
    to.put(drain.phase).put(drain.why.code()).put_text(drain.why.message());
  });
  to.put(static_cast<std::uint8_t>(leaving_.has_value())).put(leaving_.value_or(0));
  put_each(to, growth_.waiting, [&](const Growth::Newcomer& one) { to.put(one.server); });
  to.put(static_cast<std::uint8_t>(growth_.now.has_value())).put(growth_.now ? growth_.now->server : 0);
  put_each(to, growth_.goals, [&](const Goal& goal) {
    to.put(static_cast<std::uint32_t>(goal.table)).put(goal.unit.begin).put(goal.unit.end);
    to.put(goal.server).put(static_cast<std::uint8_t>(goal.owns));
  });
  put_each(to, losses_, [&](const Loss& loss) {
    to.put(loss.server).put(static_cast<std::uint32_t>(loss.made));
    put_tables(to, loss.left);
    put_servers(to, loss.by);
  });
}

void Scheduler::get_changes(Instant now, Reader& from) {
  const std::size_t tables = map_.placement.size();
  get_each(from, 35, [&] {
    const auto server = from.get<std::uint32_t>();
    drains_[server] = get_drain(now, from, tables);
  });
  const bool leaves = from.get<std::uint8_t>() != 0;
  const auto leaving = from.get<std::uint32_t>();
  if (leaves) leaving_ = leaving;
  if (leaves && !drains_.contains(leaving)) from.fail();
  get_each(from, 4, [&] { growth_.waiting.push_back({from.get<std::uint32_t>(), now}); });
  const bool comes = from.get<std::uint8_t>() != 0;
  const auto newcomer = from.get<std::uint32_t>();
  if (comes) growth_.now = Growth::Newcomer{newcomer, now};
  get_each(from, 13, [&] {
    Goal goal;
    goal.table = from.get<std::uint32_t>();
    goal.unit.begin = from.get<std::uint16_t>();
    goal.unit.end = from.get<std::uint16_t>();
    goal.server = from.get<std::uint32_t>();
    goal.owns = from.get<std::uint8_t>() != 0;
    if (goal.table >= tables) return from.fail();
    growth_.goals.push_back(goal);
  });
  get_each(from, 16, [&] {
    Loss loss;
    loss.server = from.get<std::uint32_t>();
    loss.at = now;
    loss.made = from.get<std::uint32_t>();
    loss.left = get_tables(from, tables);
    loss.by = get_servers(from);
    losses_.push_back(std::move(loss));
  });
}

std::string Scheduler::image() const {
  if (!started()) return {};
  Writer out;
  out.put(kImageVersion).put(options_.cluster).put_text(encode(map_).text());
  out.put(copies_wanted()).put(options_.workers).put(static_cast<std::uint8_t>(placed_));
  put_members(out);
  std::vector<BarrierId> open;
  for (const auto& [id, barrier] : barriers_) {
    if (barrier.open && !THALWEG_BUG(kBarriersUnkept)) open.push_back(id);
  }
  put_each(out, open, [&](BarrierId id) { out.put(id.epoch).put(id.index); });
  put_each(out, ended_, [&](ShardId shard) { out.put(shard.value); });
  put_changes(out);
  const auto newest = checkpoints_.newest();
  out.put(checkpoints_.number()).put(static_cast<std::uint8_t>(newest.has_value()));
  put_step(out, newest.value_or(Step{}));
  failovers_.put(out);
  const Status stopped = stopped_.value_or(ok_status());
  out.put(static_cast<std::uint8_t>(stopped_.has_value())).put(stopped.code()).put_text(stopped.message());
  return std::string(out.take().text());
}

std::optional<std::uint64_t> Scheduler::cluster_of(std::string_view image) {
  Reader in(std::as_bytes(std::span(image)));
  const auto version = in.get<std::uint32_t>();
  const auto cluster = in.get<std::uint64_t>();
  if (!in.ok() || version != kImageVersion || cluster == 0) return std::nullopt;
  return cluster;
}

std::set<NodeId> Scheduler::members_told() const {
  std::set<NodeId> told;
  for (const auto& [id, member] : members_) {
    if (started() && !stopped_ && member.named && !member.gone() && !member.observer) told.insert(id);
  }
  return told;
}

std::string Scheduler::address_on(std::string_view machine, NodeId node) const {
  const auto member = members_.find(node);
  return member != members_.end() && member->second.machine == machine ? member->second.address : "";
}

Status Scheduler::check_same_job(const Imaged& job, const SchedulerOptions& options) {
  const wire::Map& map = job.map;
  const auto other = [](const std::string& what, auto is, auto expected) {
    return Status(Code::kUsage,
                  fmt::format("the state is of a job with {} {}, expected one with {}", is, what, expected));
  };
  if (map.first_servers() != options.servers) return other("servers", map.first_servers(), options.servers);
  if (job.workers != options.workers) return other("workers", job.workers, options.workers);
  if (const auto copies = std::min(options.replicas, options.servers); job.copies != copies)
    return other("copies of each key range", job.copies, copies);
  if (const Combining combine = combining_of(options); map.combine != combine)
    return Status(Code::kUsage,
                  fmt::format("the state is of a job whose pushes are combined by {}, expected {}",
                              words_of(map.combine), words_of(combine)));
  if (map.shards.size() != options.shards) return other("data shards", map.shards.size(), options.shards);
  if (map.tables != options.tables || map.consistency != options.consistency || map.job != options.job)
    return {Code::kUsage, "the state is of a job with other settings or files, expected those of this one"};
  return ok_status();
}

std::optional<Scheduler::Imaged> Scheduler::read_image(Instant now, std::string_view image) {
  Reader in(std::as_bytes(std::span(image)));
  const auto version = in.get<std::uint32_t>();
  const auto cluster = in.get<std::uint64_t>();
  const auto map = wire::decode_map(Bytes::of(in.get_text(kTextMax)));
  if (version != kImageVersion || !map) return std::nullopt;
  Imaged out;
  out.copies = in.get<std::uint32_t>();
  out.workers = in.get<std::uint32_t>();
  map_ = *map;
  options_.cluster = cluster;
  options_.first = map_.first;
  placed_ = in.get<std::uint8_t>() != 0;
  get_members(now, in);
  get_each(in, 8, [&] {
    const auto epoch = in.get<std::uint32_t>();
    barriers_[{epoch, in.get<std::uint32_t>()}].open = true;
  });
  get_each(in, 4, [&] { ended_.insert(ShardId{in.get<std::uint32_t>()}); });
  get_changes(now, in);
  const auto number = in.get<std::uint64_t>();
  const bool any = in.get<std::uint8_t>() != 0;
  const Step newest = get_step(in);
  checkpoints_.resume(now, number, any ? std::optional(newest) : std::nullopt);
  failovers_ = Failovers::get(now, in);
  const bool stopped = in.get<std::uint8_t>() != 0;
  const auto code = static_cast<Code>(in.get<std::uint8_t>());
  const std::string message = in.get_text(kTextMax);
  if (stopped) stopped_ = Status(code, message);
  if (!in.done()) return std::nullopt;
  out.map = map_;
  out.loaded = loaded();
  out.stopped = stopped_;
  for (const auto& [id, barrier] : barriers_) out.open.insert(id);  // An image has no others.
  return out;
}

std::optional<Scheduler::Imaged> Scheduler::imaged(std::string_view image) {
  return Scheduler(SchedulerOptions()).read_image(Instant{}, image);
}

Status Scheduler::restore(Instant now, std::string_view image, const std::vector<KeptReport>& reports) {
  const auto job = read_image(now, image);
  if (!job) return {Code::kModel, "the state of the job cannot be read, or is another version's"};
  if (Status same = check_same_job(*job, options_); !same.ok()) return same;
  timeline_.begin(now);
  timeline_.add(now, JobEvent::Kind::kResumed, kScheduler, "took the job up from its state");
  for (const KeptReport& report : reports) {
    reported_[report.shard] = report.number;
    if (options_.on_report) options_.on_report(report.shard, report.number, report.text);
  }
  for (const ShardId shard : ended_) {
    if (options_.on_program_end) options_.on_program_end(shard);
  }
  wake_ = now;
  if (stopped_) stop_until_ = stop_servers_at_ = now + kStopPatience;
  const auto servers = count(Role::kServer, true), workers = count(Role::kWorker, true);
  tell_event(
      stopped_ ? "the job whose state is there is over; those of its nodes that have yet to hear so are told"
               : fmt::format("the scheduler has taken the job up as its state has it: {} servers, {} "
                             "workers, map epoch {}",
                             servers, workers, map_.epoch));
  return ok_status();
}

}  // namespace thalweg
