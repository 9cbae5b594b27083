#include "train/plan/field_plan.h"

#include <fmt/format.h>

#include "model/model.h"
#include "train/rows/data_fields.h"

namespace thalweg {
namespace {

constexpr std::uint32_t kFieldsUsual = 1000;  // More than that are looked into.

}  // namespace

Status plan_fields(const TrainerOptions& options, const std::shared_ptr<DataSet>& data, bool needed,
                   TrainSpec& spec) {
  auto fields = options.fields;
  const bool there_are = data->format().parser(spec.train, data->columns())->with_fields();
  spec.model.fields_by_place = fields && !there_are && !needed;
  if (spec.model.fields_by_place && options.min_count > 1) {
    return {Code::kUsage,
            fmt::format(
                "--min-count {} and --fields {}: rows have no fields, so that an entry's place in its row "
                "is its field, and rows without their rare features would have others in their places; "
                "expected one of the two, or rows with fields",
                options.min_count, *fields)};
  }
  if (!fields && !there_are) fields = 0;
  if (!fields && data->format().fields != nullptr) {
    fields = data->format().fields(data->columns());
    if (*fields > kFieldsUsual) spec.fields_from = "one field a column of " + data->paths().front();
  }
  if (!fields && !data->seekable()) {
    return {Code::kUsage,
            fmt::format("--fields must be given when {} learns from {} rows of a pipe, which would have to "
                        "be read twice to count them; expected one more than the largest field",
                        spec.model.name, data->format().title)};
  }
  if (!fields) {
    const auto counted = count_fields(data);
    if (!counted) return counted.status();
    fields = *counted;
    if (*counted > kFieldsUsual) spec.fields_from = place_of_field(*data, *counted - 1);
  }
  if (*fields == 0 && needed) {
    return {Code::kData,
            fmt::format("{} needs rows with fields (such as libffm); this input has none", spec.model.name)};
  }
  spec.model.fields = *fields;
  const auto made = make_model(spec.model);
  if (made || spec.fields_from.empty()) return ok_status();
  return {made.status().code(), made.status().message() + "; there is " + spec.fields_from};
}

}  // namespace thalweg
