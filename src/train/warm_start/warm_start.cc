#include "train/warm_start/warm_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/rule_fields.h"
#include "data/column/columns.h"
#include "data/column/member_kinds.h"
#include "data/reader/row_loop.h"
#include "net/system_disk.h"
#include "train/plan/algorithm_plan.h"
#include "train/rows/key_ages.h"
#include "train/shard_trainer.h"
#include "train/warm_start/learnt_keys.h"

namespace thalweg {
namespace {

constexpr std::size_t kBias = 0;  // The table of a sparse model.

std::string shape(const TableSpec& spec) {
  return spec.kind == TableSpec::Kind::kDense ? fmt::format("{} rows of {} floats", spec.rows, spec.dim)
                                              : fmt::format("{} floats a key", spec.dim);
}

template <class Value>
void settle_number(std::optional<Value>& open, Value known) {
  if (!open) open = known;
}

std::string size_text(std::uint32_t size) { return std::to_string(size); }
std::string size_text(const std::vector<std::uint32_t>& sizes) {
  return sizes.empty() ? "none" : fmt::format("{}", fmt::join(sizes, ","));
}

Status first_failure(std::initializer_list<Status> all) {
  for (const Status& status : all) {
    if (!status.ok()) return status;
  }
  return ok_status();
}

bool has_state(RuleKind kind) {
  return kind != RuleKind::kSgd && kind != RuleKind::kAdd && kind != RuleKind::kAssign;
}

// Whether data shards have replicas that servers make agree.
bool by_replicas_and_servers(const Algorithm& algorithm) {
  return algorithm.make != nullptr && algorithm.group == Algorithm::Group::kUnused;
}

const char* fields_text(const ModelSpec& model) {
  if (model.fields == 0) return "none";
  return model.fields_by_place ? "the places of entries in rows without any" : "those that rows have";
}

}  // namespace

Result<std::unique_ptr<WarmStart>> WarmStart::open(const TrainerOptions& options) {
  if (options.init.empty()) return std::unique_ptr<WarmStart>();
  auto reader = ModelReader::open(SystemDisk(), options.init);
  if (!reader)
    return Status(Code::kModel, fmt::format("{}: {}", options.init_weights_only ? "--init-weights" : "--init",
                                            reader.status().message()));
  auto columns = columns_to_go_on_with(*reader);
  if (!columns) return columns.status();
  return std::unique_ptr<WarmStart>(
      new WarmStart(std::move(reader).value(), *std::move(columns), options.init_weights_only));
}

std::string WarmStart::given() const {
  return fmt::format("{} {}", weights_only_ ? "--init-weights" : "--init", reader_.path());
}

std::string WarmStart::stored(const char* flag) const { return reader_.manifest().option(flag); }

std::string WarmStart::known_columns() const { return says_all_columns(columns_) ? columns_ : std::string(); }

std::string WarmStart::description() const {
  const Manifest& manifest = reader_.manifest();
  std::uint64_t rows = 0;
  for (const TableManifest& table : manifest.tables) {
    if (has_model_keys(table.spec)) rows += table.rows;
  }
  const std::string keys = rows > 0 ? fmt::format(", {} rows", rows) : "";
  return fmt::format("goes on with model {} at {}, digest {}{}{}", manifest.model.name, reader_.path(),
                     digest_text(manifest.digest), keys, weights_only_ ? "; its weights alone" : "");
}

std::string WarmStart::identity() const {
  return fmt::format("{} digest {}", weights_only_ ? "the weights of" : "the model of",
                     digest_text(reader_.manifest().digest));
}

Status WarmStart::differs(const std::string& what, const std::string& here, const std::string& there) const {
  return {Code::kUsage, fmt::format("{} {}, but the model at {} has {}; leave {} out, or train a new model",
                                    what, here, reader_.path(), there, what)};
}

Status WarmStart::check_keys(const DataSet& data) const {
  if (data.format().columns && !known_columns().empty()) {
    const bool fields_matter = reader_.manifest().model.fields != 0;
    const Status same = check_same_features(data.columns(), known_columns(), fields_matter);
    if (!same.ok()) return {same.code(), fmt::format("{}: {}", given(), same.message())};
  }
  // A namespace of VW and a column of the same name give a feature the same key.
  const auto named = [](std::string_view ids) { return ids == "names" || ids == "columns"; };
  const std::string known = ids();
  const std::string_view here = data.format().ids;
  if (known.empty() || known == here || (named(known) && named(here))) return ok_status();
  return {Code::kUsage,
          fmt::format("{}: is {}, whose features have other ids than those that the model at {} "
                      "has learnt, which are {}; expected rows of the same kind",
                      data.paths().front(), data.format().title, reader_.path(), known)};
}

// Of JSON lines. More may be said of members than the model was told, but not of what it has learnt as a
// number that it would be another feature.
Status WarmStart::settle_members_of(TrainerOptions& options) const {
  const std::string told = columns_;
  std::string all = told;
  if (!options.columns.empty()) {
    const auto beyond = items_beyond(options.columns, told);
    if (!beyond) return differs("--columns", options.columns, told.empty() ? "none" : told);
    ReadOptions read;
    read.hash_bits = options.hash_bits;
    std::unordered_set<Key> numbers;
    for (const ColumnItem& item : *beyond) {
      if (item.kind != Column::Kind::kNumeric || item.number_told || item.number != NumberForm())
        numbers.insert(RowRules(read).key(column_salt(item.name)));
      all += fmt::format("{}{}", all.empty() ? "" : ",", item_text(item));
    }
    const auto learnt = learnt_keys(reader_, numbers);
    if (!learnt) return learnt.status();
    if (!learnt->empty())
      return differs("--columns", options.columns, "numbers of these members, as they stand or scaled");
    read.columns = options.columns;
    read.label_column = options.label_column, read.weight_column = options.weight_column;
    settle_members(read);
    options.label_column = read.label_column, options.weight_column = read.weight_column;
  }
  options.columns = all;
  return ok_status();
}

// Features must be the ones that the model knows.
Status WarmStart::settle_reading(TrainerOptions& options) const {
  const unsigned bits = reader_.manifest().hash_bits();
  if (options.hash_bits != 0 && options.hash_bits != bits) {
    return differs("--hash-bits", std::to_string(options.hash_bits),
                   bits == 0 ? "64-bit ids" : fmt::format("{} bits", bits));
  }
  options.hash_bits = bits;
  if (options.expire_after == 0) {
    const std::string steps = stored("expire-after");
    std::from_chars(steps.data(), steps.data() + steps.size(), options.expire_after);
  }
  const std::string pairs = stored("interactions");
  if (!options.interactions.empty() && options.interactions != pairs)
    return differs("--interactions", options.interactions, pairs.empty() ? "none" : pairs);
  options.interactions = pairs;
  if (!options.columns.empty() && !known_columns().empty())
    return differs("--columns", options.columns, "columns that it knows, " + known_columns());
  if (options.raw_values && !value_scales().empty())
    return {Code::kUsage, fmt::format("--raw-values, but the model at {} has learnt scaled values; leave "
                                      "--raw-values out, or train a new model",
                                      reader_.path())};
  options.raw_values = options.raw_values || stored("raw-values") == "true";
  if (known_columns().empty()) {
    if (Status status = settle_members_of(options); !status.ok()) return status;
  }
  if (options.label_column.empty()) options.label_column = stored("label-column");
  if (options.weight_column.empty()) options.weight_column = stored("weight-column");
  return ok_status();
}

template <class Size>
Status WarmStart::settle_size(const char* flag, std::optional<Size>& open, const Size& known) const {
  if (open && *open != known) return differs(flag, size_text(*open), size_text(known));
  open = known;
  return ok_status();
}

Result<const ModelKind*> WarmStart::kind(const TrainerOptions& options) const {
  ModelSpec named = reader_.manifest().model;
  named.kinds = options.more.models;
  return find_kind(named);
}

// "script:net.pt", whatever the file is called.
bool WarmStart::is_own_script(std::string_view model) const {
  constexpr std::string_view kScript = "script:";
  if (reader_.manifest().model.script.empty() || !model.starts_with(kScript)) return false;
  const auto hash = hash_of(std::string(model.substr(kScript.size())));
  return hash && *hash == reader_.manifest().script_hash;
}

Status WarmStart::settle_shape(TrainerOptions& options) const {
  const ModelSpec& model = reader_.manifest().model;
  const std::string name = model.script.empty() ? model.name : model.name + ":" + model.script;
  if (!options.model.empty() && options.model != name && !is_own_script(options.model))
    return differs("--model", options.model, "model " + name);
  options.model = name;
  if (options.loss && *options.loss != model.loss)
    return differs("--loss", std::string(loss_name(*options.loss)), std::string(loss_name(model.loss)));
  if (model.loss != Loss::kBytes) options.loss = model.loss;
  return settle_sizes(options);
}

// What the options say that means nothing to the model's kind is for the plan to refuse.
Status WarmStart::settle_sizes(TrainerOptions& options) const {
  const ModelSpec& model = reader_.manifest().model;
  const auto found = kind(options);
  if (!found) return found.status();
  if (model.layers != 0) {
    return first_failure({settle_size("--context", options.context, model.inputs),
                          settle_size("--layers", options.layers, model.layers),
                          settle_size("--width", options.width, model.width),
                          settle_size("--heads", options.heads, model.heads)});
  }
  const bool fields = (*found)->fields || (*found)->deep != nullptr;
  if (fields && model.fields == 0 && options.fields)
    return differs("--fields", std::to_string(*options.fields), "no fields");
  const auto settled = [&](bool has, const char* flag, auto& open, const auto& known) {
    return has ? settle_size(flag, open, known) : ok_status();
  };
  return first_failure({settled((*found)->factors, "--rank", options.rank, model.rank),
                        settled(model.fields != 0, "--fields", options.fields, model.fields),
                        settled(model.inputs != 0, "--inputs", options.inputs, model.inputs),
                        settled(model.classes != 0, "--classes", options.classes, model.classes),
                        settled(takes_hidden(**found), "--hidden", options.hidden, model.hidden)});
}

Status WarmStart::check_algorithm(const TrainerOptions& options) const {
  const auto chosen = choose_algorithm(options.algorithm);
  if (!chosen) return ok_status();  // The plan says why, or there is none.
  const Algorithm& algorithm = *chosen->algorithm;
  const Manifest& manifest = reader_.manifest();
  const bool sparse = std::any_of(manifest.tables.begin(), manifest.tables.end(), [](const auto& table) {
    return table.spec.kind == TableSpec::Kind::kSparse;
  });
  if (sparse && by_replicas_and_servers(algorithm)) {
    return {Code::kUsage,
            fmt::format("{} makes no sense with --algorithm {}: each data shard would begin by taking every "
                        "row of model {}; expected sync, or another such as ssp:S, async or local:K",
                        given(), options.algorithm, manifest.model.name)};
  }
  if (weights_only_ || algorithm.state || manifest.model.weights.kind != RuleKind::kFtrl) return ok_status();
  return {
      Code::kUsage,
      fmt::format("{} makes no sense with --algorithm {}: the model goes on by ftrl, whose weights follow "
                  "from sums that a data shard does not have; begin with the weights alone: "
                  "--init-weights {}",
                  given(), options.algorithm, reader_.path())};
}

// State means something to the rule alone that has left it.
Status WarmStart::settle_rules(TrainerOptions& options) const {
  const Manifest& manifest = reader_.manifest();
  const ModelSpec& model = manifest.model;
  const auto other = [&](const char* flag, const std::optional<RuleKind>& wanted, RuleKind had) {
    if (!wanted || *wanted == had) return ok_status();
    return Status(
        Code::kUsage,
        fmt::format("{} {}, but the optimizer state of the model at {} is that of {}; leave it out, or "
                    "begin with the weights alone: --init-weights {}",
                    flag, rule_name(*wanted), reader_.path(), rule_name(had), reader_.path()));
  };
  for (const Status& status : {other("--optimizer", options.optimizer, model.weights.kind),
                               other("--factor-optimizer", options.factor_optimizer, model.factors.kind)}) {
    if (!status.ok()) return status;
  }
  options.optimizer = model.weights.kind;
  settle_number(options.rate, model.weights.rate);
  settle_number(options.l1, model.weights.l1);
  settle_number(options.l2, model.weights.l2);
  const auto found = kind(options);
  if (!found) return found.status();
  if ((*found)->dense == nullptr && !manifest.tables.empty())
    settle_number(options.bias_rate, manifest.tables[kBias].spec.rule.rate);
  if ((*found)->factors) {
    options.factor_optimizer = model.factors.kind;
    settle_number(options.factor_rate, model.factors.rate);
    settle_number(options.factor_l2, model.factors.l2);
  }
  if ((*found)->deep != nullptr) settle_number(options.layer_rate, manifest.tables.back().spec.rule.rate);
  return ok_status();
}

Result<TrainerOptions> WarmStart::settle(TrainerOptions options) const {
  for (const auto step : {&WarmStart::settle_reading, &WarmStart::settle_shape}) {
    if (Status status = (this->*step)(options); !status.ok()) return status;
  }
  if (Status status = check_algorithm(options); !status.ok()) return status;
  if (weights_only_) return options;
  if (Status status = settle_rules(options); !status.ok()) return status;
  return options;
}

Status WarmStart::check_table(const TableManifest& had, const TableSpec& wanted) const {
  const TableSpec& spec = had.spec;
  if (spec.name == wanted.name && spec.kind == wanted.kind && spec.dim == wanted.dim &&
      spec.rows == wanted.rows) {
    return ok_status();
  }
  return {Code::kUsage, fmt::format("{}: its table {} has {}; this training's table {} has {}: options and "
                                    "data must lead to the same sizes",
                                    given(), spec.name, shape(spec), wanted.name, shape(wanted))};
}

Status WarmStart::check(const TrainSpec& spec, const std::vector<TableSpec>& tables) const {
  const ModelSpec& model = reader_.manifest().model;
  if (model.fields_by_place != spec.model.fields_by_place || model.fields != spec.model.fields) {
    return {Code::kUsage, fmt::format("{}: its fields are {}, and this training's {}; expected rows of the "
                                      "kind that it has learnt from",
                                      given(), fields_text(model), fields_text(spec.model))};
  }
  const std::vector<TableManifest>& had = reader_.manifest().tables;
  const bool without_ages = had.size() + 1 == tables.size() && is_ages_table(tables.back());
  if (had.size() != tables.size() && !without_ages) {
    return {Code::kUsage, fmt::format("{}: it has {} tables, and this training {}: options and data must "
                                      "lead to the same sizes",
                                      given(), had.size(), tables.size())};
  }
  const std::vector<TableSpec> at_servers = server_tables(spec, tables);
  bool saved = true, kept = true;  // Of the state that the rules have.
  for (std::size_t t = 0; t < had.size(); ++t) {
    const TableSpec &table = tables[t], &at_server = at_servers[t];
    if (Status status = check_table(had[t], table); !status.ok()) return status;
    if (!has_state(table.rule.kind) || had[t].rows == 0) continue;
    saved = saved && had[t].state_floats > 0;
    kept = kept && (at_server.rule.kind == table.rule.kind || at_server.dim > table.dim);
  }
  if (weights_only_ || (saved && kept)) return ok_status();
  return {Code::kUsage, fmt::format("{}: {}; begin with the weights alone: --init-weights {}", given(),
                                    saved ? "replicas that servers make agree begin without optimizer state"
                                          : "its optimizer state was not saved, as after --algorithm easgd",
                                    reader_.path())};
}

}  // namespace thalweg
