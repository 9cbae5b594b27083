// Whether the route that a group chooses is among the two fastest of all that it has, measured on this
// machine.
//   group_choices [--ranks N[,N...]] [--transport shm|tcp[,...]] [--op NAME[,NAME...]] [--bytes B[,B...]]
//                 [--costs FILE] [--runs N]
// One line a point: the choice, its time, its place among all routes, and the two fastest. Of a route that is
// timed whole and in pieces the better time counts, and routes that are the same exchange are one; vectors
// are in ordinary memory.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/work/local_ranks.h"
#include "cli/work/measure/route_meter.h"
#include "client/group/group_routes.h"
#include "exchange/costs/costs_file.h"

namespace thalweg {
namespace {

struct Settings {
  std::string ranks = "2,4", transports = "shm,tcp",
              operations = "all-reduce,reduce-scatter,all-gather,broadcast,reduce";
  std::string bytes = "256,4096,32768,262144,2097152,16777216", costs;
  int runs = 5;
};

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char each : text) {
    if (each == ',') {
      parts.emplace_back();
    } else {
      parts.back() += each;
    }
  }
  return parts;
}

struct Summary {
  int points = 0, among_two = 0, within = 0;
  double worst = 1;
};

bool has_name(const TimedRoute& timed, const std::string& name) {
  return timed.name == name || std::ranges::find(timed.other_names, name) != timed.other_names.end();
}

void show(const std::string& transport, const MeasuredPoint& point, const std::string& choice,
          const std::vector<TimedRoute>& timed, Summary& summary) {
  std::vector<TimedRoute> order;  // The fastest first, whole or in pieces.
  for (const TimedRoute& each : timed) {
    const auto is_it = [&each](const TimedRoute& known) { return has_name(known, each.name); };
    if (std::ranges::none_of(order, is_it)) order.push_back(each);
  }
  const auto is_it = [&choice](const TimedRoute& each) { return has_name(each, choice); };
  const auto found = std::ranges::find_if(order, is_it);
  if (found == order.end()) {
    fmt::print("{} {} {} {}: {} was not timed\n", transport, point.ranks, operation_name(point.operation),
               point.bytes, choice);
    return;
  }
  const auto place = found - order.begin() + 1;
  const TimedRoute &best = order[0], &second = order[std::min<std::size_t>(1, order.size() - 1)];
  ++summary.points;
  summary.among_two += place <= 2 ? 1 : 0;
  summary.within += found->seconds <= 1.05 * second.seconds ? 1 : 0;
  summary.worst = std::max(summary.worst, found->seconds / best.seconds);
  fmt::print(
      "{:<4} {:>2} {:<15}{:>10}  {:<20}{:>12.2f} us  {:>2} of {:<3} {:<20}{:>12.2f} us  {:<20}{:>12.2f} us\n",
      transport, point.ranks, operation_name(point.operation), point.bytes, choice, found->seconds * 1e6,
      place, order.size(), best.name, best.seconds * 1e6, second.name, second.seconds * 1e6);
  std::fflush(stdout);
}

std::uint32_t cores() {
  cpu_set_t set{};
  ::sched_getaffinity(0, sizeof set, &set);
  return static_cast<std::uint32_t>(CPU_COUNT(&set));
}

Status run(const Settings& settings, const MachineFigures& figures, std::uint32_t ranks,
           const std::string& transport, Summary& summary) {
  const bool shares = transport == "shm";
  std::vector<RankPlace> places;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    places.push_back(
        {0, shares ? 0 : rank, std::min(cores(), ranks), figures.costs, figures.routes.digest()});
  GroupRoutes routes(places, nullptr, figures.routes);  // As each rank of such a group makes them.
  TimingEffort effort;
  effort.runs = settings.runs;
  return run_local_ranks(
      ranks, transport,
      [&](Group& group) {
        for (const std::string& name : split(settings.operations)) {
          const auto operation = parse_operation(name);
          if (!operation) return operation.status();
          for (const std::string& bytes : split(settings.bytes)) {
            const MeasuredPoint point{shares, ranks, *operation, std::stoull(bytes)};
            std::vector<std::byte> memory(route_memory_bytes(point.bytes, ranks));
            const auto timed = time_routes(group, point, effort, memory.data());
            if (!timed) return timed.status();
            if (group.rank() == 0)
              show(transport, point, routes.choose(point.operation, point.bytes, sizeof(float)).name(),
                   *timed, summary);
          }
        }
        return group.barrier();
      },
      settings.costs);
}

Status run_all(const Settings& settings) {
  MachineFigures figures;
  if (!settings.costs.empty()) {
    std::ifstream file(settings.costs);
    std::ostringstream text;
    text << file.rdbuf();
    const auto read = parse_costs(text.str(), settings.costs);
    if (!read) return read.status();
    figures = *read;
  }
  Summary summary;
  for (const std::string& transport : split(settings.transports)) {
    for (const std::string& ranks : split(settings.ranks)) {
      const auto number = static_cast<std::uint32_t>(std::stoul(ranks));
      if (Status status = run(settings, figures, number, transport, summary); !status.ok()) return status;
    }
  }
  fmt::print(
      "{} of {} choices are among the two fastest routes, {} at most 5 % behind the second; the worst takes "
      "{:.2f} times the best\n",
      summary.among_two, summary.points, summary.within, summary.worst);
  return ok_status();
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) {
  thalweg::Settings settings;
  const std::map<std::string_view, std::string*> texts = {{"--ranks", &settings.ranks},
                                                          {"--transport", &settings.transports},
                                                          {"--op", &settings.operations},
                                                          {"--bytes", &settings.bytes},
                                                          {"--costs", &settings.costs}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto text = texts.find(argv[i]);
    if (text != texts.end()) {
      *text->second = argv[i + 1];
    } else if (std::string_view(argv[i]) == "--runs") {
      settings.runs = std::atoi(argv[i + 1]);
    } else {
      fmt::print(stderr, "see the beginning of bench/group_choices.cc\n");
      return 2;
    }
  }
  const thalweg::Status status = thalweg::run_all(settings);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}
