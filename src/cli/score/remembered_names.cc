#include "cli/score/remembered_names.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <unordered_set>

#include "base/hash/hash.h"
#include "cli/new_file.h"
#include "cli/options/option_table.h"
#include "cli/score/feature_names.h"
#include "cli/score/linear_weights.h"
#include "cli/work/stored_model.h"

namespace thalweg {
namespace {

std::string path_of(const std::string& directory) {
  return (std::filesystem::path(directory) / kNamesFile).string();
}

// Of the model's digest, and of all that follows the line.
std::string head_of(std::uint64_t digest, std::string_view lines) {
  return fmt::format("thalweg-names\t1\t{}\t{}", digest_text(digest),
                     digest_text(hash64(lines.data(), lines.size())));
}

// A name may have any byte of a cell.
std::string escaped(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '\t' || c == '\n' || c == '\\') out += '\\';
    out += c == '\t' ? 't' : c == '\n' ? 'n' : c;
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size();
    if (escape) ++i;
    out += escape && text[i] == 't' ? '\t' : escape && text[i] == 'n' ? '\n' : text[i];
  }
  return out;
}

}  // namespace

Status remember_names(const Options& options, const std::string& directory, std::size_t most) {
  const Result<ModelReader> model = open_model(directory);
  if (!model) return model.status();
  Result<std::vector<Feature>> features = largest_weights(*model, most);
  if (!features) return features.status();
  std::unordered_set<Key> keys;
  for (const Feature& feature : *features) keys.insert(feature.key);
  const auto names = names_of_keys(model->manifest(), options, options.arguments(), std::move(keys));
  if (!names) return names.status();
  std::string lines;
  std::unordered_set<Key> named;
  for (const Feature& feature : *features) {
    const auto found = names->find(feature.key);
    const bool first = named.insert(feature.key).second;  // Each of its classes may be there.
    if (first && found != names->end()) lines += fmt::format("{}\t{}\n", feature.key, escaped(found->second));
  }
  return write_new_file(path_of(directory), head_of(model->manifest().digest, lines) + "\n" + lines);
}

Status keep_names(const std::unordered_map<Key, std::string>& names, const std::string& directory) {
  if (names.empty()) return ok_status();
  const Result<ModelReader> model = open_model(directory);
  if (!model) return model.status();
  std::set<Key> there;
  const std::vector<TableManifest>& tables = model->manifest().tables;
  for (std::size_t table = 0; table < tables.size(); ++table) {
    if (tables[table].spec.kind != TableSpec::Kind::kSparse) continue;
    const Status status = model->scan(table, false, [&](const StoredRows& rows) {
      for (const Key key : rows.keys) {
        if (names.contains(key)) there.insert(key);
      }
      return ok_status();
    });
    if (!status.ok()) return as_model(status);
  }
  std::string lines;
  for (const Key key : there) lines += fmt::format("{}\t{}\n", key, escaped(names.at(key)));
  return write_new_file(path_of(directory), head_of(model->manifest().digest, lines) + "\n" + lines);
}

Result<std::unordered_map<Key, std::string>> remembered_names(const ModelReader& model) {
  std::unordered_map<Key, std::string> names;
  const std::string path = path_of(model.path());
  if (!std::filesystem::exists(path)) return names;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t head = std::min(text.find('\n'), text.size() - 1);
  const std::string_view lines = std::string_view(text).substr(head + 1);
  if (text.empty() || text.substr(0, head) != head_of(model.manifest().digest, lines)) {
    return Status(Code::kModel,
                  fmt::format("{}: is damaged, or has the names of another model's features", path));
  }
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t tab = line.find('\t');
    Key key = 0;
    if (tab == line.npos || std::from_chars(line.data(), line.data() + tab, key).ec != std::errc()) continue;
    names.emplace(key, unescaped(line.substr(tab + 1)));
  }
  return names;
}

}  // namespace thalweg
