#include "train_options.h"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/rule_fields.h"
#include "base/word_list.h"
#include "model/loss.h"

namespace nb = nanobind;

namespace thalweg::python {
namespace {

struct Option {
  std::string_view name;
  void (*set)(TrainerOptions& options, nb::handle value);
};

template <auto kMember>
void set_member(TrainerOptions& options, nb::handle value) {
  auto& member = options.*kMember;
  member = nb::cast<std::remove_reference_t<decltype(member)>>(value);
}

template <auto kMember>
void set_rule(TrainerOptions& options, nb::handle value) {
  const auto name = nb::cast<std::string>(value);
  const auto kind = rule_named(name);
  if (!kind) throw nb::value_error(fmt::format("no update rule is named '{}'", name).c_str());
  options.*kMember = *kind;
}

void set_loss(TrainerOptions& options, nb::handle value) {
  const auto name = nb::cast<std::string>(value);
  for (std::size_t i = 0; i < kLossNames.size(); ++i) {
    if (name == kLossNames[i]) options.loss = static_cast<Loss>(i);
  }
  if (!options.loss || name != loss_name(*options.loss)) {
    throw nb::value_error(
        fmt::format("loss '{}'; expected {}", name,
                    any_of_words(std::vector<std::string_view>(kLossNames.begin(), kLossNames.end())))
            .c_str());
  }
}

std::chrono::nanoseconds seconds_in(nb::handle value) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(nb::cast<double>(value)));
}

void set_timeout(TrainerOptions& options, nb::handle value) { options.timeout = seconds_in(value); }
void set_silence(TrainerOptions& options, nb::handle value) { options.silence = seconds_in(value); }
void set_grace(TrainerOptions& options, nb::handle value) { options.grace = seconds_in(value); }

void set_kept(TrainerOptions& options, nb::handle value) {
  const auto name = nb::cast<std::string>(value);
  if (name != "best" && name != "last")
    throw nb::value_error(fmt::format("keep '{}'; expected best or last", name).c_str());
  options.keep_best = name == "best";
}

void set_shuffle(TrainerOptions& options, nb::handle value) {
  const auto name = nb::cast<std::string>(value);
  if (name != "rows" && name != "blocks" && name != "off")
    throw nb::value_error(fmt::format("shuffle '{}'; expected rows, blocks or off", name).c_str());
  options.shuffle = name == "rows"     ? RowOrder::kRows
                    : name == "blocks" ? RowOrder::kBlocks
                                       : RowOrder::kFiles;
}

using O = TrainerOptions;
constexpr Option kOptions[] = {
    {"files", set_member<&O::files>},
    {"valid", set_member<&O::valid>},
    {"valid_part", set_member<&O::valid_part>},
    {"format", set_member<&O::format>},
    {"on_bad_row", set_member<&O::on_bad_row>},
    {"hash_bits", set_member<&O::hash_bits>},
    {"interactions", set_member<&O::interactions>},
    {"raw_values", set_member<&O::raw_values>},
    {"columns", set_member<&O::columns>},
    {"label_column", set_member<&O::label_column>},
    {"weight_column", set_member<&O::weight_column>},
    {"init", set_member<&O::init>},
    {"init_weights_only", set_member<&O::init_weights_only>},
    {"model", set_member<&O::model>},
    {"loss", set_loss},
    {"rank", set_member<&O::rank>},
    {"fields", set_member<&O::fields>},
    {"init_scale", set_member<&O::init_scale>},
    {"seed", set_member<&O::seed>},
    {"inputs", set_member<&O::inputs>},
    {"classes", set_member<&O::classes>},
    {"hidden", set_member<&O::hidden>},
    {"epochs", set_member<&O::epochs>},
    {"shuffle", set_shuffle},
    {"min_count", set_member<&O::min_count>},
    {"expire_after", set_member<&O::expire_after>},
    {"pos_weight", set_member<&O::pos_weight>},
    {"negative_sample", set_member<&O::negative_sample>},
    {"keep", set_kept},
    {"patience", set_member<&O::patience>},
    {"keep_bad", set_member<&O::keep_bad>},
    {"drop_zeros", set_member<&O::drop_zeros>},
    {"batch", set_member<&O::batch>},
    {"optimizer", set_rule<&O::optimizer>},
    {"factor_optimizer", set_rule<&O::factor_optimizer>},
    {"rate", set_member<&O::rate>},
    {"bias_rate", set_member<&O::bias_rate>},
    {"l1", set_member<&O::l1>},
    {"l2", set_member<&O::l2>},
    {"factor_rate", set_member<&O::factor_rate>},
    {"factor_l2", set_member<&O::factor_l2>},
    {"layer_rate", set_member<&O::layer_rate>},
    {"sweep", set_member<&O::sweep>},
    {"data_shards", set_member<&O::data_shards>},
    {"algorithm", set_member<&O::algorithm>},
    {"exchange", set_member<&O::exchange>},
    {"servers", set_member<&O::servers>},
    {"workers", set_member<&O::workers>},
    {"threads", set_member<&O::threads>},
    {"replicas", set_member<&O::replicas>},
    {"timeout", set_timeout},
    {"silence", set_silence},
    {"grace", set_grace},
    {"memory", set_member<&O::memory>},
    {"out", set_member<&O::out>},
    {"stored", set_member<&O::stored>},
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
      throw nb::value_error(
          fmt::format("{}={}: not of the type or size that is expected", name, nb::repr(value).c_str())
              .c_str());
    }
  }
}

}  // namespace thalweg::python
