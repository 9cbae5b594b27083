#include "train_options.h"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/rule_fields.h"
#include "base/word_list.h"
#include "errors.h"
#include "model/loss.h"
#include "seconds.h"

namespace nb = nanobind;

namespace thalweg::python {
namespace {

struct Option {
  std::string_view name;
  void (*set)(TrainerOptions& options, nb::handle value);
  std::string_view expected;
};

template <class T>
struct Inner {
  using Type = T;
};
template <class T>
struct Inner<std::optional<T>> {
  using Type = T;
};

// In words, what a value of a member is.
template <auto kMember>
constexpr std::string_view expected_of() {
  using T = typename Inner<std::remove_reference_t<decltype(std::declval<TrainerOptions>().*kMember)>>::Type;
  if constexpr (std::is_same_v<T, bool>) return "True or False";
  if constexpr (std::is_same_v<T, std::string>) return "a string";
  if constexpr (std::is_integral_v<T>) return "a whole number, 0 or greater and not too large";
  if constexpr (std::is_floating_point_v<T>) return "a number";
  return "a list, or a dictionary, of what its docstring says";
}

template <auto kMember>
void set_member(TrainerOptions& options, nb::handle value) {
  auto& member = options.*kMember;
  member = nb::cast<std::remove_reference_t<decltype(member)>>(value);
}

template <auto kMember>
void set_rule(TrainerOptions& options, nb::handle value) {
  const auto name = nb::cast<std::string>(value);
  const auto kind = rule_named(name);
  if (!kind || !is_of_gradients(*kind)) {
    std::vector<std::string_view> names;
    for (const std::string_view known : kRuleNames) {
      if (is_of_gradients(*rule_named(known))) names.push_back(known);
    }
    raise({Code::kUsage, fmt::format("optimizer '{}'; expected {}", name, any_of_words(names))});
  }
  options.*kMember = *kind;
}

void set_loss(TrainerOptions& options, nb::handle value) {
  const auto name = nb::cast<std::string>(value);
  for (std::size_t i = 0; i < kLossNames.size(); ++i) {
    if (name == kLossNames[i]) options.loss = static_cast<Loss>(i);
  }
  if (!options.loss || name != loss_name(*options.loss)) {
    const std::vector<std::string_view> names(kLossNames.begin(), kLossNames.end());
    raise({Code::kUsage, fmt::format("loss '{}'; expected {}", name, any_of_words(names))});
  }
}

void set_timeout(TrainerOptions& options, nb::handle value) {
  options.timeout = nanoseconds_of(nb::cast<double>(value));
}
void set_silence(TrainerOptions& options, nb::handle value) {
  options.silence = nanoseconds_of(nb::cast<double>(value), "silence");
}
void set_grace(TrainerOptions& options, nb::handle value) {
  options.grace = nanoseconds_of(nb::cast<double>(value), "grace");
}

void set_command(TrainerOptions& options, nb::handle value) {
  options.more.from_command = nb::cast<std::string>(value);
}
void set_command_timeout(TrainerOptions& options, nb::handle value) {
  options.more.command_timeout = nanoseconds_of(nb::cast<double>(value), "command_timeout");
}

// Beside `init`, which is as good as none then.
void set_init_weights(TrainerOptions& options, nb::handle value) {
  options.init = nb::cast<std::string>(value);
  options.init_weights_only = true;
}

void set_kept(TrainerOptions& options, nb::handle value) {
  const auto name = nb::cast<std::string>(value);
  if (name != "best" && name != "last")
    raise({Code::kUsage, fmt::format("keep '{}'; expected best or last", name)});
  options.keep_best = name == "best";
}

void set_shuffle(TrainerOptions& options, nb::handle value) {
  const auto name = nb::cast<std::string>(value);
  if (name != "rows" && name != "blocks" && name != "off")
    raise({Code::kUsage, fmt::format("shuffle '{}'; expected rows, blocks or off", name)});
  options.shuffle = name == "rows"     ? RowOrder::kRows
                    : name == "blocks" ? RowOrder::kBlocks
                                       : RowOrder::kFiles;
}

using O = TrainerOptions;
constexpr Option kOptions[] = {
    {"files", set_member<&O::files>, expected_of<&O::files>()},
    {"valid", set_member<&O::valid>, expected_of<&O::valid>()},
    {"valid_part", set_member<&O::valid_part>, expected_of<&O::valid_part>()},
    {"format", set_member<&O::format>, expected_of<&O::format>()},
    {"on_bad_row", set_member<&O::on_bad_row>, expected_of<&O::on_bad_row>()},
    {"hash_bits", set_member<&O::hash_bits>, expected_of<&O::hash_bits>()},
    {"interactions", set_member<&O::interactions>, expected_of<&O::interactions>()},
    {"raw_values", set_member<&O::raw_values>, expected_of<&O::raw_values>()},
    {"columns", set_member<&O::columns>, expected_of<&O::columns>()},
    {"from_command", set_command, "a string"},
    {"command_timeout", set_command_timeout, "a number of seconds"},
    {"label_column", set_member<&O::label_column>, expected_of<&O::label_column>()},
    {"weight_column", set_member<&O::weight_column>, expected_of<&O::weight_column>()},
    {"init", set_member<&O::init>, expected_of<&O::init>()},
    {"init_weights", set_init_weights, "a model, or the directory of one"},
    {"model", set_member<&O::model>, expected_of<&O::model>()},
    {"loss", set_loss, "a string"},
    {"rank", set_member<&O::rank>, expected_of<&O::rank>()},
    {"fields", set_member<&O::fields>, expected_of<&O::fields>()},
    {"init_scale", set_member<&O::init_scale>, expected_of<&O::init_scale>()},
    {"seed", set_member<&O::seed>, expected_of<&O::seed>()},
    {"inputs", set_member<&O::inputs>, expected_of<&O::inputs>()},
    {"classes", set_member<&O::classes>, expected_of<&O::classes>()},
    {"hidden", set_member<&O::hidden>, expected_of<&O::hidden>()},
    {"layers", set_member<&O::layers>, expected_of<&O::layers>()},
    {"width", set_member<&O::width>, expected_of<&O::width>()},
    {"heads", set_member<&O::heads>, expected_of<&O::heads>()},
    {"context", set_member<&O::context>, expected_of<&O::context>()},
    {"epochs", set_member<&O::epochs>, expected_of<&O::epochs>()},
    {"shuffle", set_shuffle, "a string"},
    {"min_count", set_member<&O::min_count>, expected_of<&O::min_count>()},
    {"expire_after", set_member<&O::expire_after>, expected_of<&O::expire_after>()},
    {"pos_weight", set_member<&O::pos_weight>, expected_of<&O::pos_weight>()},
    {"negative_sample", set_member<&O::negative_sample>, expected_of<&O::negative_sample>()},
    {"keep", set_kept, "a string"},
    {"patience", set_member<&O::patience>, expected_of<&O::patience>()},
    {"keep_bad", set_member<&O::keep_bad>, expected_of<&O::keep_bad>()},
    {"drop_zeros", set_member<&O::drop_zeros>, expected_of<&O::drop_zeros>()},
    {"batch", set_member<&O::batch>, expected_of<&O::batch>()},
    {"optimizer", set_rule<&O::optimizer>, "a string"},
    {"factor_optimizer", set_rule<&O::factor_optimizer>, "a string"},
    {"rate", set_member<&O::rate>, expected_of<&O::rate>()},
    {"bias_rate", set_member<&O::bias_rate>, expected_of<&O::bias_rate>()},
    {"l1", set_member<&O::l1>, expected_of<&O::l1>()},
    {"l2", set_member<&O::l2>, expected_of<&O::l2>()},
    {"factor_rate", set_member<&O::factor_rate>, expected_of<&O::factor_rate>()},
    {"factor_l2", set_member<&O::factor_l2>, expected_of<&O::factor_l2>()},
    {"layer_rate", set_member<&O::layer_rate>, expected_of<&O::layer_rate>()},
    {"sweep", set_member<&O::sweep>, expected_of<&O::sweep>()},
    {"data_shards", set_member<&O::data_shards>, expected_of<&O::data_shards>()},
    {"algorithm", set_member<&O::algorithm>, expected_of<&O::algorithm>()},
    {"exchange", set_member<&O::exchange>, expected_of<&O::exchange>()},
    {"servers", set_member<&O::servers>, expected_of<&O::servers>()},
    {"workers", set_member<&O::workers>, expected_of<&O::workers>()},
    {"threads", set_member<&O::threads>, expected_of<&O::threads>()},
    {"replicas", set_member<&O::replicas>, expected_of<&O::replicas>()},
    {"timeout", set_timeout, "a number of seconds"},
    {"silence", set_silence, "a number of seconds"},
    {"grace", set_grace, "a number of seconds"},
    {"memory", set_member<&O::memory>, expected_of<&O::memory>()},
    {"out", set_member<&O::out>, expected_of<&O::out>()},
    {"stored", set_member<&O::stored>, expected_of<&O::stored>()},
};

const Option* find_option(std::string_view name) {
  for (const Option& option : kOptions) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

}  // namespace

void set_options(TrainerOptions& options, const nb::dict& given) {
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    const Option* const option = find_option(name);
    if (option == nullptr) {
      throw nb::type_error(fmt::format("train() has no argument '{}'", name).c_str());
    }
    if (value.is_none()) continue;
    try {
      option->set(options, value);
    } catch (const nb::cast_error&) {
      raise(
          {Code::kUsage, fmt::format("{}={}: expected {}", name, nb::repr(value).c_str(), option->expected)});
    }
  }
}

}  // namespace thalweg::python
