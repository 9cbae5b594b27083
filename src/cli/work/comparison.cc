#include "cli/work/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "cli/options/option_rules.h"
#include "cli/options/suggest.h"
#include "cli/work/compared_simulation.h"
#include "cli/work/toml_value.h"

namespace thalweg {
namespace {

constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kRunsMax = 100;
constexpr const char* kTarget = "expected target = { valid_loss = 0.5 } or target = { valid_accuracy = 0.9 }";

bool fits_a_directory(std::string_view name) {
  constexpr std::string_view kAlso = "-_.+=:";
  const auto fits = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kAlso.find(c) != kAlso.npos;
  };
  return !name.empty() && name.size() <= kNameBytesMax && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), fits);
}

// Of a directory that need not be there yet.
std::string one_spelling(const std::string& directory) {
  std::error_code error;
  const auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(directory) / "", error);
  return error ? directory : path.string();
}

// What the comparison itself writes beside the runs' directories.
bool ends_as_a_file(std::string_view name) {
  constexpr std::string_view kEndings[] = {".csv", ".svg", ".png", ".part"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

class ComparisonReader {
 public:
  ComparisonReader(const std::string& path, const Options& about)
      : path_(path),
        about_(about),
        train_(find_command(about.commands(), "train")),
        simulated_(find_command(about.commands(), "simulate train")) {
    THALWEG_CHECK(train_ != nullptr && simulated_ != nullptr, "a program that compares trainings can train");
  }
  Result<Comparison> read(const toml::table& file);

 private:
  using Settings = std::vector<ComparedSetting>;
  Status refuse(const toml::source_position& at, const std::string& message) const {
    return toml_error(path_, at, message);
  }
  std::string place(const toml::node& node) const {
    return fmt::format("{}:{}", path_, node.source().begin.line);
  }
  Status known_keys(const toml::table& file) const;
  Status read_files(const toml::table& file);
  Status read_target(const toml::table& file);
  Status take_target(const toml::key& name, const toml::node& number);
  Status read_base(const toml::table& file);
  Status read_runs(const toml::table& file);
  Status read_run(const toml::table& table);
  Status own_directories(std::string_view option, std::string_view kept) const;
  Result<std::string> name_of(const toml::table& table) const;
  Status read_settings(const toml::table& table, std::string_view in, Settings& out) const;
  Status read_simulation(const toml::table& file);
  // Of a run; nothing of one that is not simulated.
  Result<std::optional<Settings>> simulation_of(const toml::table& table) const;
  Result<Options> options_of_run(const std::string& name, const Settings& own,
                                 const std::optional<Settings>& simulation) const;
  const OptionRow* row_of(std::string_view key) const;
  Status unknown(const toml::key& key, std::string_view in) const;

  const std::string path_;
  const Options& about_;
  const Command* train_;
  const Command* simulated_;
  std::vector<std::string> files_;
  Settings base_;
  std::optional<Settings> simulation_;  // Of runs that say nothing else.
  Comparison out_;
};

Status ComparisonReader::known_keys(const toml::table& file) const {
  for (const auto& [name, node] : file) {
    const std::string_view key = name.str();
    if (key == "files" || key == "target" || key == "simulate" || key == "base" || key == "run") continue;
    return refuse(
        name.source().begin,
        fmt::format("there is no '{}' here; expected files, target, simulate, [base] and [[run]]{}",
                    key.substr(0, 80),
                    row_of(key) != nullptr ? "\nhint: an option of all runs goes under [base]" : ""));
  }
  return ok_status();
}

Status ComparisonReader::read_files(const toml::table& file) {
  constexpr const char* kExpected =
      "expected the training data as thalweg train has it, such as files = [\"rows.svm\"]";
  const toml::node* node = file.get("files");
  if (node == nullptr) return {Code::kConfig, fmt::format("{}: files is missing; {}", path_, kExpected)};
  const toml::array* array = node->as_array();
  if (array == nullptr || array->empty()) {
    return refuse(node->source().begin, fmt::format("files is no list of names; {}", kExpected));
  }
  for (const toml::node& one : *array) {
    const auto name = one.value_exact<std::string>();
    if (!name || name->empty()) {
      return refuse(one.source().begin, fmt::format("files has what is no name; {}", kExpected));
    }
    if (*name == "-") {
      return refuse(
          one.source().begin,
          "files names standard input, which can be read once; expected files, which each run reads");
    }
    files_.push_back(*name);
  }
  return ok_status();
}

Status ComparisonReader::take_target(const toml::key& name, const toml::node& number) {
  Target target;
  target.accuracy = name.str() == "valid_accuracy";
  if (!target.accuracy && name.str() != "valid_loss") {
    return refuse(name.source().begin,
                  fmt::format("target has no '{}'; {}", name.str().substr(0, 80), kTarget));
  }
  target.value = number.is_number() ? number.value<double>().value_or(0) : 0;
  if (!std::isfinite(target.value) || target.value <= 0 || (target.accuracy && target.value > 1)) {
    return refuse(number.source().begin, fmt::format("target.{} is no such number; expected one above 0{}",
                                                     name.str(), target.accuracy ? ", at most 1" : ""));
  }
  out_.target = target;
  return ok_status();
}

Status ComparisonReader::read_target(const toml::table& file) {
  const toml::node* node = file.get("target");
  if (node == nullptr) return ok_status();
  const toml::table* table = node->as_table();
  if (table == nullptr || table->size() != 1) {
    return refuse(node->source().begin, fmt::format("target is not one number by its name; {}", kTarget));
  }
  for (const auto& [name, number] : *table) {
    if (Status status = take_target(name, number); !status.ok()) return status;
  }
  out_.target_place = place(*node);
  return ok_status();
}

// Where to write is for the command to say, and what all commands take is about its own output.
const OptionRow* ComparisonReader::row_of(std::string_view key) const {
  if (key == "out" || key == "run-dir" || key == "sweep") return nullptr;
  for (const OptionRow* row : options_of(*train_)) {
    const auto names = spellings(*row);
    if (!row->common && std::find(names.begin(), names.end(), key) != names.end()) return row;
  }
  return nullptr;
}

Status ComparisonReader::unknown(const toml::key& key, std::string_view in) const {
  if (key.str() == "simulate") {
    return refuse(key.source().begin,
                  "simulate is no option of [base]; expected it above [base], for all runs, or in a [[run]]");
  }
  if (key.str() == "sweep") {
    return refuse(key.source().begin,
                  fmt::format("{} has 'sweep', which is several trainings of which one is kept; expected a "
                              "[[run]] for each of its values",
                              in));
  }
  std::vector<std::string_view> known;
  for (const OptionRow* row : options_of(*train_)) {
    if (row_of(spelling(*row)) != nullptr) known.push_back(spelling(*row));
  }
  const std::string_view near = nearest(key.str(), known);
  const bool of_compare = key.str() == "out" || key.str() == "run-dir";
  const std::string hint =
      of_compare ? "thalweg compare --out DIR makes a directory for each run"
                 : (near.empty() ? "thalweg help train lists them" : fmt::format("did you mean '{}'?", near));
  return refuse(
      key.source().begin,
      fmt::format("{} has no '{}'; expected options of thalweg train without their dashes\nhint: {}", in,
                  key.str().substr(0, 80), hint));
}

Status ComparisonReader::read_settings(const toml::table& table, std::string_view in, Settings& out) const {
  for (const auto& [name, node] : table) {
    if (in != "[base]" && (name.str() == "name" || name.str() == "simulate")) continue;
    const OptionRow* row = row_of(name.str());
    if (row == nullptr) return unknown(name, in);
    for (const ComparedSetting& earlier : out) {
      if (earlier.row == row) {
        return refuse(name.source().begin, fmt::format("{} is given twice, in {} too, by another spelling",
                                                       spelling(*row), earlier.place));
      }
    }
    auto value = toml_option(path_, name.str(), *row, node);
    if (!value) return value.status();
    out.push_back({row, *std::move(value), place(node)});
  }
  return ok_status();
}

Status ComparisonReader::read_base(const toml::table& file) {
  const toml::node* node = file.get("base");
  if (node == nullptr) return ok_status();
  const toml::table* table = node->as_table();
  if (table == nullptr) {
    return refuse(node->source().begin,
                  "base is no table; expected [base] with options of all runs below it");
  }
  return read_settings(*table, "[base]", base_);
}

Result<std::string> ComparisonReader::name_of(const toml::table& table) const {
  constexpr const char* kExpected =
      "expected a name of its own for each run, of letters, digits and -_.+=:, such as name = \"ssp-4\"";
  const toml::node* node = table.get("name");
  if (node == nullptr)
    return refuse(table.source().begin, fmt::format("a run without a name; {}", kExpected));
  const auto name = node->value_exact<std::string>();
  if (!name || !fits_a_directory(*name)) {
    return refuse(node->source().begin, fmt::format("name is not fit for a directory; {}", kExpected));
  }
  if (ends_as_a_file(*name)) {
    return refuse(node->source().begin,
                  fmt::format("{} is a name as files of the comparison have, and the run's directory is "
                              "beside them; {}",
                              *name, kExpected));
  }
  for (const ComparedRun& run : out_.runs) {
    if (run.name == *name) {
      return refuse(node->source().begin,
                    fmt::format("the run of {} is called {} already; {}", run.place, *name, kExpected));
    }
  }
  return *name;
}

Status ComparisonReader::read_simulation(const toml::table& file) {
  const toml::node* node = file.get("simulate");
  if (node == nullptr) return ok_status();
  auto settings = read_simulate(path_, *simulated_, *node);
  if (!settings) return settings.status();
  simulation_ = *std::move(settings);
  return ok_status();
}

Result<std::optional<ComparisonReader::Settings>> ComparisonReader::simulation_of(
    const toml::table& table) const {
  const toml::node* node = table.get("simulate");
  if (node == nullptr) return simulation_ ? std::optional(Settings()) : std::nullopt;
  if (const auto wanted = node->value_exact<bool>(); wanted && !*wanted)
    return std::optional<Settings>(std::nullopt);
  auto settings = read_simulate(path_, *simulated_, *node);
  if (!settings) return settings.status();
  return std::optional(*std::move(settings));
}

Result<Options> ComparisonReader::options_of_run(const std::string& name, const Settings& own,
                                                 const std::optional<Settings>& simulation) const {
  const Command& command = simulation ? *simulated_ : *train_;
  Options options(command, about_.commands());
  options.set_arguments(files_);
  const Settings none;
  const Settings& common = simulation && simulation_ ? *simulation_ : none;
  const std::pair<const Settings*, Origin> all[] = {{&base_, Origin::kFile},
                                                    {&common, Origin::kFile},
                                                    {&own, Origin::kSet},
                                                    {simulation ? &*simulation : &none, Origin::kSet}};
  for (const auto& [settings, origin] : all) {
    for (const ComparedSetting& setting : *settings) {
      if (!applies_to(*setting.row, command)) {
        return Status(Code::kConfig,
                      fmt::format("{}: run {} is simulated, and {} is of real trainings alone; expected "
                                  "options of thalweg simulate train",
                                  setting.place, name, spelling(*setting.row)));
      }
      options.assign(*setting.row, setting.value, origin, setting.place);
    }
  }
  return options;
}

Status ComparisonReader::read_run(const toml::table& table) {
  const auto name = name_of(table);
  if (!name) return name.status();
  Settings own;
  if (Status status = read_settings(table, "[[run]]", own); !status.ok()) return status;
  const auto simulation = simulation_of(table);
  if (!simulation) return simulation.status();
  auto options = options_of_run(*name, own, *simulation);
  if (!options) return options.status();
  CommandLine line;
  line.commands = about_.commands();
  line.command = &options->command();
  if (const Status status = check_rules(*options, line); !status.ok()) {
    return refuse(table.source().begin, fmt::format("run {}: {}", *name, status.message()));
  }
  out_.runs.push_back({*name, place(table), simulation->has_value(), *std::move(options)});
  return ok_status();
}

Status ComparisonReader::read_runs(const toml::table& file) {
  constexpr const char* kExpected =
      "expected [[run]] with a name and its options below it, once for each training";
  const toml::node* node = file.get("run");
  if (node == nullptr) return {Code::kConfig, fmt::format("{}: there is no run; {}", path_, kExpected)};
  const toml::array* array = node->as_array();
  if (array == nullptr || array->empty() || array->size() > kRunsMax) {
    return refuse(node->source().begin,
                  fmt::format("run is no list of 1 to {} tables; {}", kRunsMax, kExpected));
  }
  for (const toml::node& one : *array) {
    const toml::table* table = one.as_table();
    if (table == nullptr) return refuse(one.source().begin, fmt::format("run is no table; {}", kExpected));
    if (Status status = read_run(*table); !status.ok()) return status;
  }
  return ok_status();
}

// Each of `kept` has a directory of its own for each real training.
Status ComparisonReader::own_directories(std::string_view option, std::string_view kept) const {
  std::map<std::string, std::string> owners;
  for (const ComparedRun& run : out_.runs) {
    if (run.simulated || !run.options.has(option)) continue;
    const std::string directory = run.options.text(option);
    const auto [owner, is_first] = owners.emplace(one_spelling(directory), run.name);
    if (is_first) continue;
    return {Code::kConfig,
            fmt::format("{}: run {} keeps its {} in {}, as run {} does; expected a {} "
                        "directory of its own in each [[run]]",
                        run.options.place(option), run.name, kept, directory, owner->second, option)};
  }
  return ok_status();
}

Result<Comparison> ComparisonReader::read(const toml::table& file) {
  if (Status status = known_keys(file); !status.ok()) return status;
  for (const auto part :
       {&ComparisonReader::read_files, &ComparisonReader::read_target, &ComparisonReader::read_simulation,
        &ComparisonReader::read_base, &ComparisonReader::read_runs}) {
    if (Status status = (this->*part)(file); !status.ok()) return status;
  }
  if (Status status = own_directories("checkpoint", "checkpoints"); !status.ok()) return status;
  if (Status status = own_directories("state", "state"); !status.ok()) return status;
  return std::move(out_);
}

}  // namespace

Result<Comparison> read_comparison(const std::string& path, const Options& about) {
  const auto text = read_toml_text(path);
  if (!text) return text.status();
  const auto table = parse_toml(*text, path);
  if (!table) return table.status();
  return ComparisonReader(path, about).read(*table);
}

}  // namespace thalweg
