#include "exchange/costs/costs_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "exchange/costs/measured_routes.h"
#include "topology/toml_reader.h"

namespace thalweg {

namespace {

constexpr std::int64_t kVectorBytesMax = std::int64_t{1} << 40, kPieceBytesMax = std::int64_t{1} << 30;

void read_costs(TomlReader& in, const toml::table& table, MachineCosts& costs) {
  for (const char* transport : {"shared_memory", "loopback"}) {
    if (const toml::table* inner = table[transport].as_table())
      in.allow(*inner, transport, {"bytes_per_second", "latency_seconds", "message_seconds"});
  }
  if (const toml::table* inner = table["core"].as_table())
    in.allow(*inner, "core", {"add_seconds_per_byte", "fetch_seconds_per_byte", "cache_bytes"});
  each_cost(costs, [&](const char* part, const char* key, double& value, bool (*is_valid)(double)) {
    const toml::node* node = table.get(part);
    if (node == nullptr || !in.ok()) return;
    const toml::table* inner = node->as_table();
    if (inner == nullptr) return in.fail(*node, fmt::format("{} is no table; expected [{}]", part, part));
    const toml::node* number = inner->get(key);
    if (number == nullptr) return;
    const auto found = number->value<double>();
    if (!number->is_number() || !found || !is_valid(*found))
      return in.fail(*number, fmt::format("{} is wrong; expected a number such as {}", key, value));
    value = *found;
  });
}

// Whether each key that a route must have is there.
bool is_whole(TomlReader& in, const toml::table& table) {
  for (const std::string_view key : {"transport", "ranks", "operation", "bytes", "route"}) {
    if (!table.contains(key)) in.fail(table, fmt::format("[[route]] has no '{}'; expected one", key));
  }
  return in.ok();
}

std::optional<Operation> read_operation(TomlReader& in, const toml::table& table) {
  const std::optional<std::string> name = in.text(table, "operation");
  if (!name) return {};
  std::string known;
  for (const Operation each : kChosenOperations) {
    if (*name == operation_name(each)) return each;
    known += (known.empty() ? "" : ", ") + std::string(operation_name(each));
  }
  in.fail(*table.get("operation"), fmt::format("operation '{}' has no route to choose; expected one of {}",
                                               name->substr(0, 80), known));
  return {};
}

// "shm" is true.
std::optional<bool> read_transport(TomlReader& in, const toml::table& table) {
  const std::optional<std::string> name = in.text(table, "transport");
  if (!name || *name == "shm" || *name == "tcp") return name ? std::optional(*name == "shm") : std::nullopt;
  in.fail(*table.get("transport"),
          fmt::format("transport '{}' is unknown; expected shm or tcp", name->substr(0, 80)));
  return {};
}

void read_route(TomlReader& in, const toml::table& table, MeasuredRoutes& routes) {
  in.allow(table, "[[route]]", {"transport", "ranks", "operation", "bytes", "route", "piece"});
  if (!is_whole(in, table)) return;
  const auto shares_memory = read_transport(in, table);
  const auto ranks = in.count(table, "ranks", limits::kGroupRanksMax);
  const auto operation = read_operation(in, table);
  const auto bytes = in.count(table, "bytes", kVectorBytesMax);
  const auto piece = in.count(table, "piece", kPieceBytesMax);
  const auto name = in.text(table, "route");
  if (!in.ok()) return;
  if (*ranks == 1) return in.fail(*table.get("ranks"), "ranks is 1; expected 2 or more");
  const MeasuredPoint point{*shares_memory, static_cast<std::uint32_t>(*ranks), *operation,
                            static_cast<std::uint64_t>(*bytes)};
  const toml::node& route = *table.get("route");
  if (name->size() > limits::kNameBytesMax)
    return in.fail(
        route, fmt::format("route has {} letters; expected at most {}", name->size(), limits::kNameBytesMax));
  Result<Plan> plan = measured_plan(*name, point);
  if (!plan) return in.fail(route, plan.status().message());
  if (!routes.add(point, {*std::move(plan), static_cast<std::size_t>(piece.value_or(0))}))
    in.fail(table, fmt::format("a second route for {} of {} bytes among {} ranks; expected one",
                               operation_name(point.operation), point.bytes, point.ranks));
}

void read_routes(TomlReader& in, const toml::table& table, MeasuredRoutes& routes) {
  const toml::node* const node = table.get("route");
  if (node == nullptr || !in.ok()) return;
  const toml::array* const all = node->as_array();
  if (all == nullptr || !all->is_homogeneous(toml::node_type::table))
    return in.fail(*node, "route is no list of tables; expected [[route]]");
  if (all->size() > kMeasuredRoutesMax)
    return in.fail(*node, fmt::format("{} routes; expected at most {}", all->size(), kMeasuredRoutesMax));
  for (const toml::node& each : *all) {
    if (in.ok()) read_route(in, *each.as_table(), routes);
  }
}

Result<MachineFigures> read_figures(const toml::table& table, const std::string& source) {
  TomlReader in(source);
  in.allow(table, "a costs file", {"shared_memory", "loopback", "core", "route"});
  MachineFigures figures;
  read_costs(in, table, figures.costs);
  read_routes(in, table, figures.routes);
  if (!in.ok()) return in.status();
  return figures;
}

}  // namespace

Result<MachineFigures> parse_costs(std::string_view text, const std::string& source) {
  if (text.size() > kCostsBytesMax || text.find('\0') != text.npos) {
    return Status(Code::kConfig,
                  fmt::format("{}: expected TOML text of at most {} bytes", source, kCostsBytesMax));
  }
  try {
    return read_figures(toml::parse(text), source);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    return Status(Code::kConfig,
                  fmt::format("{}:{}:{}: {}", source, at.line, at.column, error.description()));
  }
}

std::string to_toml(const MachineFigures& figures) {
  std::string text, open;
  each_cost(figures.costs, [&](std::string_view part, std::string_view key, double value, bool (*)(double)) {
    if (part != open) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", part);
    open = part;
    const std::string digits = fmt::format("{}", value);
    const bool is_float = digits.find_first_of(".e") != std::string::npos;
    text += fmt::format("{} = {}{}\n", key, digits, is_float ? "" : ".0");
  });
  for (const auto& [point, way] : figures.routes.all()) {
    text += fmt::format(
        "\n[[route]]\ntransport = \"{}\"\nranks = {}\noperation = \"{}\"\nbytes = {}\nroute = \"{}\"\n",
        point.shares_memory ? "shm" : "tcp", point.ranks, operation_name(point.operation), point.bytes,
        way.plan.name());
    if (way.piece_bytes > 0) text += fmt::format("piece = {}\n", way.piece_bytes);
  }
  return text;
}

}  // namespace thalweg
