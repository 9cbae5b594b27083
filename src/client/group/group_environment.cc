// What launchers say in the environment, in the words of torchrun, Open MPI, PMIx and Slurm.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "net/group/form_group.h"
#include "thalweg/group_options.h"

namespace thalweg {
namespace {

using Lookup = std::function<const char*(const char* name)>;

Result<std::uint32_t> number(const char* name, std::string_view text, std::uint32_t max) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || value > max) {
    return Status(Code::kConfig,
                  fmt::format("{}='{}': expected a whole number from 0 to {}", name, text, max));
  }
  return value;
}

// In the words that thalweg's own flags take.
std::optional<bool> truth(std::string_view text) {
  for (const std::string_view yes : {"1", "true", "yes", "on"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "false", "no", "off"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

// The variables in which one launcher says rank and size.
struct Launcher {
  const char* rank;
  const char* size;
};
constexpr std::array<Launcher, 4> kLaunchers = {{{"RANK", "WORLD_SIZE"},
                                                 {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                 {"PMIX_RANK", "PMIX_SIZE"},
                                                 {"SLURM_PROCID", "SLURM_NTASKS"}}};

Status take_place(const Lookup& variable, const Launcher& launcher, GroupOptions& options) {
  const char* const rank = variable(launcher.rank);
  const char* const size = variable(launcher.size);
  if (!rank || !size) {
    const char* const set = rank ? launcher.rank : launcher.size;
    return {Code::kConfig,
            fmt::format("{} is set but {} is not; expected both", set, rank ? launcher.size : launcher.rank)};
  }
  const Result<std::uint32_t> ranks = number(launcher.size, size, limits::kGroupRanksMax);
  if (!ranks) return ranks.status();
  if (*ranks == 0) return {Code::kConfig, fmt::format("{}=0: expected a rank or more", launcher.size)};
  const Result<std::uint32_t> own = number(launcher.rank, rank, *ranks - 1);
  if (!own) return own.status();
  options.rank = *own;
  options.size = *ranks;
  return ok_status();
}

// "node[3-5,9],login1" begins with node3, "login1,node[3-5]" with login1; zeros before a number belong to it.
std::string first_slurm_host(std::string_view list) {
  const std::size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == list.npos || comma < bracket) return std::string(list.substr(0, comma));
  const std::string_view inside = list.substr(bracket + 1);
  const std::size_t close = list.find(']', bracket);
  const std::string_view rest = close == list.npos ? std::string_view() : list.substr(close + 1);
  return fmt::format("{}{}{}", list.substr(0, bracket), inside.substr(0, inside.find_first_of("-,]")),
                     rest.substr(0, rest.find(',')));
}

// Where thalweg run listens for the ranks it goes before MASTER_PORT, which other libraries of the program
// may use for themselves.
Status take_port(const Lookup& variable, GroupOptions& options) {
  for (const char* const name : {"THALWEG_MASTER_PORT", "MASTER_PORT"}) {
    const char* const port = variable(name);
    if (!port || !*port) continue;
    const Result<std::uint32_t> parsed = number(name, port, 65535);
    if (!parsed) return parsed.status();
    options.master_port = static_cast<std::uint16_t>(*parsed);
    break;
  }
  const char* const listener = variable("THALWEG_LISTENER");
  if (!listener || !*listener) return ok_status();
  const Result<std::uint32_t> parsed = number("THALWEG_LISTENER", listener, 1 << 20);
  if (!parsed) return parsed.status();
  options.listener = static_cast<int>(*parsed);
  return ok_status();
}

}  // namespace

Result<GroupOptions> group_options_from(const Lookup& variable) {
  GroupOptions options;
  for (const Launcher& launcher : kLaunchers) {
    if (!variable(launcher.rank) && !variable(launcher.size)) continue;
    // Open MPI sets PMIX_RANK without a size of its own.
    if (!variable(launcher.size) && std::string_view(launcher.rank) == "PMIX_RANK") continue;
    if (Status status = take_place(variable, launcher, options); !status.ok()) return status;
    break;
  }
  if (const char* master = variable("MASTER_ADDR"); master && *master) {
    options.master_host = master;
  } else if (const char* hosts = variable("SLURM_NODELIST"); hosts && *hosts && variable("SLURM_PROCID")) {
    options.master_host = first_slurm_host(hosts);
  }
  if (Status status = take_port(variable, options); !status.ok()) return status;
  if (const char* transport = variable("THALWEG_TRANSPORT"); transport && *transport) {
    const Result<GroupTransport> parsed = parse_group_transport(transport);
    if (!parsed) return Status(Code::kConfig, "THALWEG_TRANSPORT: " + parsed.status().message());
    options.transport = *parsed;
  }
  if (const char* costs = variable("THALWEG_COSTS_FILE")) options.costs_file = costs;
  if (const char* secret = variable("THALWEG_SECRET_FILE")) options.secret_file = secret;
  if (const char* accepts = variable("THALWEG_INSECURE_NO_AUTH"); accepts && *accepts) {
    const std::optional<bool> parsed = truth(accepts);
    if (!parsed) {
      return Status(Code::kConfig, fmt::format("THALWEG_INSECURE_NO_AUTH='{}': expected 1 or 0", accepts));
    }
    options.insecure_no_auth = *parsed;
  }
  return options;
}

}  // namespace thalweg
