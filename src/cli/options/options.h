// The value of every option with where it came from, resolved in the order
// flag > --set > THALWEG_* > configuration file > default.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command/command.h"
#include "cli/options/option_value.h"

namespace thalweg {

enum class Origin : std::uint8_t { kDefault, kFile, kVariable, kSet, kFlag };

// Immutable once resolved. A getter crashes on a name that the table lacks or that has another type.
class Options {
 public:
  Options();  // Every option at its default.
  // For a command of a program, whose `commands` outlive this.
  Options(const Command& command, std::span<const Command> commands);

  bool flag(std::string_view name) const;
  // For options with a default, or where a rule demands a value.
  std::int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;  // Durations: seconds.
  std::chrono::nanoseconds duration(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const Choice& choice(std::string_view name) const;
  Interval interval(std::string_view name) const;
  // For options that the command decides when they are unset.
  bool has(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;  // Each time that it was given.
  std::optional<std::int64_t> maybe_integer(std::string_view name) const;
  std::optional<double> maybe_real(std::string_view name) const;
  std::optional<std::string> maybe_text(std::string_view name) const;
  std::optional<Choice> maybe_choice(std::string_view name) const;

  const std::vector<std::string>& arguments() const { return arguments_; }
  void set_arguments(std::vector<std::string> arguments) { arguments_ = std::move(arguments); }

  // Precondition: made for a command.
  const Command& command() const { return *command_; }
  std::span<const Command> commands() const { return commands_; }

  const OptionValue& value(std::string_view name) const { return entry(name).value; }
  Origin origin(std::string_view name) const { return entry(name).origin; }
  // "flag --rate", "--set train.rate", "THALWEG_RATE", "run.toml:3", "default"
  std::string place(std::string_view name) const;

  // Later calls win; callers go from the weakest origin to the strongest.
  void assign(const OptionRow& row, OptionValue value, Origin origin, std::string place);
  void forget(const OptionRow& row);  // As if nobody had given it.

 private:
  struct Entry {
    OptionValue value;
    Origin origin = Origin::kDefault;
    std::string place = "default";
  };
  void add(const OptionRow& row);
  const Entry& entry(std::string_view name) const;
  template <class Value>
  const Value& get(std::string_view name) const;
  template <class Value>
  std::optional<Value> maybe(std::string_view name) const;

  std::map<std::string_view, Entry> entries_;
  std::vector<std::string> arguments_;
  const Command* command_ = nullptr;
  std::span<const Command> commands_;
};

}  // namespace thalweg
