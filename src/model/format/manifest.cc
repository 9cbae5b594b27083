#include "model/format/manifest.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/check.h"
#include "base/limits.h"
#include "base/rule_fields.h"
#include "model/format/json_bounds.h"
#include "model/format/sealed_json.h"
#include "model/format/training_json.h"

namespace thalweg {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint32_t kRowFloatsMax = 1u << 24;
constexpr const char* kFormat = "thalweg-model";
constexpr JsonBounds kBounds{.depth = 8, .values = 1u << 16, .names = 4096, .name_bytes = 512};
constexpr std::array kInitNames = {"zero", "uniform", "normal", "constant"};
constexpr std::array kKindNames = {"sparse", "dense"};

template <class Enum, std::size_t kCount>
const char* name_of(const std::array<const char*, kCount>& names, Enum value) {
  return names.at(static_cast<std::size_t>(value));
}

// A float as the shortest decimal that reads back as the same float.
double shortest(float value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  double out = 0;
  std::from_chars(text.data(), end.ptr, out);
  return static_cast<float>(out) == value ? out : static_cast<double>(value);
}

Json rule_json(const RuleSpec& rule) {
  Json out = {{"kind", rule_name(rule.kind)}};
  for_each_number(rule, [&out](const char* name, float number) { out[name] = shortest(number); });
  if (!rule.custom.empty()) out["custom"] = rule.custom;
  return out;
}

Json table_json(const TableManifest& table) {
  const TableSpec& spec = table.spec;
  return {{"name", spec.name},
          {"kind", name_of(kKindNames, spec.kind)},
          {"dim", spec.dim},
          {"dense_rows", spec.rows},
          {"ranges", spec.ranges},
          {"rule", rule_json(spec.rule)},
          {"init",
           {{"kind", name_of(kInitNames, spec.init.kind)},
            {"scale", shortest(spec.init.scale)},
            {"seed", spec.init.seed}}},
          {"rows", table.rows},
          {"state_floats", table.state_floats},
          {"file", table.file},
          {"bytes", table.bytes},
          {"xxh3_128", table.hash}};
}

// Of another version of the program, perhaps.
std::string unknown_word(const std::string& place, const std::string& word, const std::string& known) {
  constexpr std::size_t kShown = 64;
  const std::string shown = Json(word.substr(0, kShown)).dump(-1, ' ', true, Json::error_handler_t::replace);
  return fmt::format("'{}' is {}; this version of thalweg knows {}", place, shown, known);
}

// Reads members of the wanted type and remembers the first that is missing or ill-typed.
class Members {
 public:
  Members(const Json& json, std::string place, std::string& error)
      : json_(&json), place_(std::move(place)), error_(&error) {
    if (!json.is_object()) fail("", "an object");
  }

  Members element(const Json& json, const std::string& place) {
    return Members(json, place_ + place, *error_);
  }
  Members object(const char* name) { return Members(member(name), place_ + name + ".", *error_); }
  const Json& member(const char* name) {
    static const Json kNone;
    if (json_->is_object() && json_->contains(name)) return (*json_)[name];
    fail(name, "a value");
    return kNone;
  }
  bool has(const char* name) const { return json_->is_object() && json_->contains(name); }
  void text(const char* name, std::string& out) {
    const Json& value = member(name);
    value.is_string() ? void(out = value.get<std::string>()) : fail(name, "a string");
  }
  void real(const char* name, float& out) {
    const Json& value = member(name);
    const double found = value.is_number() ? value.get<double>() : std::numeric_limits<double>::infinity();
    const bool fits = std::abs(found) <= static_cast<double>(std::numeric_limits<float>::max());
    fits ? void(out = static_cast<float>(found)) : fail(name, "a number that a float holds");
  }
  void truth(const char* name, bool& out) {
    const Json& value = member(name);
    value.is_boolean() ? void(out = value.get<bool>()) : fail(name, "true or false");
  }
  template <class Whole>
  void whole(const char* name, Whole& out) {
    const Json& value = member(name);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<Whole>::max()) {
      out = static_cast<Whole>(value.get<std::uint64_t>());
    } else {
      fail(name, "a whole number");
    }
  }
  template <class Enum, std::size_t kCount>
  void one_of(const char* name, const std::array<const char*, kCount>& names, Enum& out) {
    std::string value;
    text(name, value);
    for (std::size_t i = 0; i < kCount; ++i) {
      if (value == names[i]) return void(out = static_cast<Enum>(i));
    }
    if (error_->empty())
      *error_ = unknown_word(place_ + name, value, fmt::format("{}", fmt::join(names, ", ")));
  }
  void fail(const std::string& name, const std::string& expected) {
    if (error_->empty()) *error_ = "'" + place_ + name + "' is missing or not " + expected;
  }

 private:
  const Json* json_;
  std::string place_;
  std::string* error_;
};

void read_rule(Members in, RuleSpec& out) {
  in.one_of("kind", kRuleNames, out.kind);
  for_each_number(out, [&in](const char* name, float& number) { in.real(name, number); });
  if (out.kind == RuleKind::kCustom) in.text("custom", out.custom);
}

void read_table(Members in, TableManifest& out) {
  in.text("name", out.spec.name);
  in.one_of("kind", kKindNames, out.spec.kind);
  in.whole("dim", out.spec.dim);
  in.whole("dense_rows", out.spec.rows);
  in.whole("ranges", out.spec.ranges);
  read_rule(in.object("rule"), out.spec.rule);
  Members init = in.object("init");
  init.one_of("kind", kInitNames, out.spec.init.kind);
  init.real("scale", out.spec.init.scale);
  init.whole("seed", out.spec.init.seed);
  in.whole("rows", out.rows);
  in.whole("state_floats", out.state_floats);
  in.text("file", out.file);
  in.whole("bytes", out.bytes);
  in.text("xxh3_128", out.hash);
  if (out.spec.dim == 0 || out.spec.dim > kRowFloatsMax) in.fail("dim", "in range");
  if (out.state_floats > kRowFloatsMax) in.fail("state_floats", "in range");
  if (out.spec.name.empty() || out.spec.name.find('/') != std::string::npos ||
      out.file != out.spec.name + ".safetensors") {
    in.fail("file", "the table's name with .safetensors");
  }
}

void read_sizes(Members& in, ModelSpec& out) {
  in.whole("inputs", out.inputs);
  in.whole("classes", out.classes);
  const Json& hidden = in.member("hidden");
  if (!hidden.is_array()) in.fail("hidden", "a list of whole numbers");
  for (const Json& width : hidden) {
    const bool fits = width.is_number_unsigned() && width.get<std::uint64_t>() <= ~std::uint32_t{0};
    fits ? out.hidden.push_back(width.get<std::uint32_t>()) : in.fail("hidden", "a list of whole numbers");
  }
  if (!in.has("layers")) return;
  in.whole("layers", out.layers);
  in.whole("width", out.width);
  in.whole("heads", out.heads);
}

void read_model(Members in, ModelSpec& out) {
  in.text("name", out.name);
  in.one_of("loss", kLossNames, out.loss);
  in.whole("rank", out.rank);
  in.whole("fields", out.fields);
  if (in.has("fields_by_place")) in.truth("fields_by_place", out.fields_by_place);
  in.real("init_scale", out.init_scale);
  in.whole("seed", out.seed);
  if (in.has("inputs")) read_sizes(in, out);
  read_rule(in.object("weights"), out.weights);
  read_rule(in.object("factors"), out.factors);
}

void read_script(Members model, Manifest& out) {
  if (!model.has("script")) return;
  Members script = model.object("script");
  script.whole("bytes", out.script_bytes);
  script.text("xxh3_128", out.script_hash);
  out.model.script = kScriptFile;
}

void read_maps(Members& in, Manifest& out) {
  const Json& options = in.member("options");
  const Json& metrics = in.member("metrics");
  if (!options.is_object()) in.fail("options", "an object");
  if (!metrics.is_object()) in.fail("metrics", "an object");
  for (const auto& [name, value] : options.items()) {
    value.is_string() ? void(out.options[name] = value.get<std::string>())
                      : in.fail("options", "all strings");
  }
  for (const auto& [name, value] : metrics.items()) {
    value.is_number() ? void(out.metrics[name] = value.get<double>()) : in.fail("metrics", "all numbers");
  }
}

void read_training(Members in, TrainingRecord& out) {
  in.text("date", out.date);
  in.whole("batch", out.batch);
  in.whole("data_shards", out.data_shards);
  in.whole("epochs", out.epochs);
  out.learnt_epochs = out.epochs;  // Of models of older versions nobody knows.
  if (in.has("learnt_epochs")) in.whole("learnt_epochs", out.learnt_epochs);
  in.whole("best_epoch", out.best_epoch);
  in.whole("kept_epoch", out.kept_epoch);
  in.whole("files_left_out", out.files_left_out);
  const Json& files = in.member("files");
  if (!files.is_array() || files.size() > TrainingRecord::kFilesMax)
    return in.fail("files", fmt::format("a list of at most {}", TrainingRecord::kFilesMax));
  for (std::size_t f = 0; f < files.size(); ++f) {
    Members file = in.element(files[f], fmt::format("files[{}].", f));
    TrainedFile& to = out.files.emplace_back();
    file.text("name", to.name);
    file.whole("bytes", to.bytes);
    file.text("xxh3_64_head", to.head);
    file.text("xxh3_64_tail", to.tail);
  }
}

Status other_version(const std::string& path, std::uint64_t version, std::string_view library) {
  return {
      Code::kModel,
      fmt::format("{}: model format version {}, written by library version {}; this program reads version {}",
                  path, version, library, kModelFormatVersion)};
}

// What a file whose checksum does not match is: of another version, if it begins as to_json() has it, or
// damaged. Nothing else of it is read.
Status mismatch(const std::string& path, std::string_view text) {
  const std::string head = fmt::format("{{\n  \"format\": \"{}\",\n  \"format_version\": ", kFormat);
  constexpr std::string_view kLibrary = ",\n  \"library_version\": ";
  if (text.starts_with(head)) {
    text.remove_prefix(head.size());
    std::uint64_t version = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), version);
    text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
    if (end.ec == std::errc() && version != kModelFormatVersion) {
      std::string_view library = "\"unknown\"";
      if (text.starts_with(kLibrary)) {
        library = text.substr(kLibrary.size(), 64);
        library = library.substr(0, library.find_first_of(",\n"));
      }
      return other_version(path, version, library);
    }
  }
  return {Code::kModel, path + ": damaged or edited: its checksum does not match"};
}

}  // namespace

std::string Manifest::option(const std::string& name) const {
  const auto found = options.find(name);
  return found == options.end() ? std::string() : found->second;
}

unsigned Manifest::hash_bits() const {
  const std::string text = option("hash-bits");
  unsigned bits = 0;
  std::from_chars(text.data(), text.data() + text.size(), bits);
  return bits;
}

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

std::string to_json(const Manifest& manifest) {
  const ModelSpec& model = manifest.model;
  Json json = {{"format", kFormat},
               {"format_version", kModelFormatVersion},
               {"library_version", manifest.library_version},
               {"digest", digest_text(manifest.digest)},
               {"model",
                {{"name", model.name},
                 {"loss", name_of(kLossNames, model.loss)},
                 {"rank", model.rank},
                 {"fields", model.fields},
                 {"init_scale", shortest(model.init_scale)},
                 {"seed", model.seed},
                 {"weights", rule_json(model.weights)},
                 {"factors", rule_json(model.factors)}}},
               {"tables", Json::array()},
               {"options", Json::object()},
               {"metrics", Json::object()}};
  if (model.inputs != 0 || model.classes != 0 || !model.hidden.empty()) {
    json["model"]["inputs"] = model.inputs;
    json["model"]["classes"] = model.classes;
    json["model"]["hidden"] = model.hidden;
  }
  if (model.fields_by_place) json["model"]["fields_by_place"] = true;
  if (model.layers != 0) {
    json["model"]["layers"] = model.layers;
    json["model"]["width"] = model.width;
    json["model"]["heads"] = model.heads;
  }
  if (!model.script.empty())
    json["model"]["script"] = {{"bytes", manifest.script_bytes}, {"xxh3_128", manifest.script_hash}};
  for (const TableManifest& table : manifest.tables) json["tables"].push_back(table_json(table));
  for (const auto& [name, value] : manifest.options) json["options"][name] = value;
  for (const auto& [name, value] : manifest.metrics) {
    if (std::isfinite(value)) json["metrics"][name] = value;
  }
  if (manifest.training) json["training"] = training_json(*manifest.training, "xxh3_64_");
  return sealed(json.dump(2, ' ', false, Json::error_handler_t::replace));
}

Result<Manifest> parse_manifest(const std::string& path, std::string_view text) {
  const auto error = [&](const std::string& why) { return Status(Code::kModel, path + ": " + why); };
  if (!is_sealed(text)) return mismatch(path, text);
  if (const std::string bound = look_over(text, kBounds).exceeded; !bound.empty()) return error(bound);
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object() && json.value("format", Json()) == kFormat) {
    const Json version = json.value("format_version", Json());
    if (version.is_number_unsigned() && version.get<std::uint64_t>() != kModelFormatVersion) {
      return other_version(path, version.get<std::uint64_t>(),
                           json.value("library_version", Json("unknown")).dump());
    }
  }
  std::string first_error;
  Members in(json, "", first_error);
  Manifest out;
  std::string format, digest;
  std::uint32_t version = 0;
  in.text("format", format);
  if (format != kFormat) in.fail("format", kFormat);
  in.whole("format_version", version);
  in.text("library_version", out.library_version);
  in.text("digest", digest);
  const auto end = std::from_chars(digest.data(), digest.data() + digest.size(), out.digest, 16);
  if (digest.size() != 16 || end.ptr != digest.data() + digest.size()) in.fail("digest", "16 hex digits");
  read_model(in.object("model"), out.model);
  read_script(in.object("model"), out);
  const Json& tables = in.member("tables");
  if (!tables.is_array() || tables.size() > limits::kTablesMax)
    in.fail("tables", fmt::format("a list of at most {}", limits::kTablesMax));
  std::set<std::string> names;
  for (std::size_t t = 0; first_error.empty() && t < tables.size(); ++t) {
    read_table(Members(tables[t], fmt::format("tables[{}].", t), first_error), out.tables.emplace_back());
    if (!names.insert(out.tables.back().spec.name).second) in.fail("tables", "of different names");
  }
  read_maps(in, out);
  if (in.has("training")) read_training(in.object("training"), out.training.emplace());
  if (!first_error.empty()) return error(first_error);
  return out;
}

}  // namespace thalweg
