#include "cli/options/config_file.h"

#include <fmt/format.h>
#include <algorithm>

#include "cli/options/suggest.h"
#include "cli/work/toml_value.h"

namespace thalweg {
namespace {

class ConfigReader {
 public:
  explicit ConfigReader(const std::string& path) : path_(path) {}

  Status walk(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      if (const toml::table* inner = node.as_table(); inner != nullptr && is_section(key)) {
        if (Status status = walk(*inner, key + "."); !status.ok()) return status;
        continue;
      }
      const OptionRow* row = find_key(key);
      if (row == nullptr) return toml_error(path_, name.source().begin, unknown_key(key));
      if (Status status = take(*row, node); !status.ok()) return status;
    }
    return ok_status();
  }

  std::vector<FileOption> options;

 private:
  static bool is_section(const std::string& key) {
    const auto rows = option_rows();
    return std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) {
      return row.key.size() > key.size() && row.key.substr(0, key.size() + 1) == key + ".";
    });
  }

  Status take(const OptionRow& row, const toml::node& node) {
    for (const FileOption& earlier : options) {
      if (earlier.row != &row) continue;
      return toml_error(
          path_, node.source().begin,
          fmt::format("{} is given twice, in {} too, by another spelling", row.key, earlier.place));
    }
    Result<OptionValue> value = toml_option(path_, row.key, row, node);
    if (!value) return value.status();
    options.push_back({&row, *std::move(value), fmt::format("{}:{}", path_, node.source().begin.line)});
    return ok_status();
  }

  const std::string& path_;
};

}  // namespace

std::string unknown_key(std::string_view key) {
  std::vector<std::string_view> keys;
  std::vector<std::string> aliases;
  for (const OptionRow& row : option_rows()) {
    if (!row.key.empty()) keys.push_back(row.key);
    for (std::string& alias : alias_keys(row)) aliases.push_back(std::move(alias));
  }
  keys.insert(keys.end(), aliases.begin(), aliases.end());
  std::string message = fmt::format("there is no option '{}'", key.substr(0, 80));
  std::string_view near = nearest(key, keys);
  if (near.empty()) {  // The right word, or nearly so, without or under the wrong section.
    std::vector<std::string_view> words;
    for (const std::string_view known : keys) words.push_back(known.substr(known.find('.') + 1));
    const std::string_view word = nearest(key.substr(key.rfind('.') + 1), words);
    const auto found = std::find(words.begin(), words.end(), word);
    if (found != words.end()) near = keys[static_cast<std::size_t>(found - words.begin())];
  }
  return message + (near.empty() ? std::string("\nhint: thalweg config show lists them")
                                 : fmt::format("\nhint: did you mean '{}'?", near));
}

Result<std::vector<FileOption>> parse_config(std::string_view text, const std::string& path) {
  const auto table = parse_toml(text, path);
  if (!table) return table.status();
  ConfigReader reader(path);
  if (Status status = reader.walk(*table, ""); !status.ok()) return status;
  return std::move(reader.options);
}

Result<std::vector<FileOption>> read_config(const std::string& path) {
  const auto text = read_toml_text(path);
  if (!text) return text.status();
  return parse_config(*text, path);
}

}  // namespace thalweg
