// Strict reading of TOML tables: every key known, every value of its type, every error at its place. For
// .cc files: includes toml++.
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "thalweg/status.h"

namespace thalweg {

// Keeps the first error; after it, reads return nothing and change nothing.
class TomlReader {
 public:
  explicit TomlReader(std::string source) : source_(std::move(source)) {}

  const Status& status() const { return status_; }
  bool ok() const { return status_.ok(); }

  void fail(const toml::source_position& at, const std::string& message) {
    if (ok())
      status_ = Status(Code::kConfig, fmt::format("{}:{}:{}: {}", source_, at.line, at.column, message));
  }
  void fail(const toml::node& node, const std::string& message) { fail(node.source().begin, message); }

  void allow(const toml::table& table, std::string_view what, std::initializer_list<std::string_view> keys) {
    for (const auto& [name, node] : table) {
      bool known = false;
      for (const std::string_view key : keys) known = known || key == name.str();
      if (known) continue;
      std::string list;
      for (const std::string_view key : keys) list += fmt::format("{}{}", list.empty() ? "" : ", ", key);
      fail(name.source().begin,
           fmt::format("{} has no '{}'; expected {}", what, name.str().substr(0, 80), list));
    }
  }

  std::optional<std::string> text(const toml::table& table, std::string_view key) {
    return value<std::string>(table, key, "a string");
  }
  std::optional<bool> flag(const toml::table& table, std::string_view key) {
    return value<bool>(table, key, "true or false");
  }
  std::optional<std::int64_t> count(const toml::table& table, std::string_view key, std::int64_t most) {
    const auto number = value<std::int64_t>(table, key, "a whole number");
    if (!number || (*number >= 1 && *number <= most)) return number;
    fail(*table.get(key), fmt::format("{} is {}; expected 1 to {}", key, *number, most));
    return {};
  }
  std::optional<double> factor(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    if (node == nullptr || !ok()) return {};
    const auto number = node->value<double>();
    if (node->is_number() && number && *number >= 1 && *number <= 1e6) return number;
    fail(*node, fmt::format("{} is wrong; expected a number from 1 to 1000000", key));
    return {};
  }

 private:
  template <class T>
  std::optional<T> value(const toml::table& table, std::string_view key, std::string_view expected) {
    const toml::node* node = table.get(key);
    if (node == nullptr || !ok()) return {};
    if (auto exact = node->value_exact<T>()) return exact;
    fail(*node, fmt::format("{} is of another type; expected {}", key, expected));
    return {};
  }

  std::string source_;
  Status status_;
};

}  // namespace thalweg
