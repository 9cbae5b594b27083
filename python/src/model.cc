// Saved models: their answers and weights as arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "data/unpack/pipe_patience.h"
#include "errors.h"
#include "gil.h"
#include "model/loss.h"
#include "new_array.h"
#include "rows.h"
#include "thalweg/saved_model.h"

namespace nb = nanobind;

namespace thalweg::python {
namespace {

SavedModel::Answer answer_named(const std::string& name) {
  constexpr std::pair<const char*, SavedModel::Answer> kAnswers[] = {
      {"prediction", SavedModel::Answer::kPrediction},
      {"score", SavedModel::Answer::kScore},
      {"class_score", SavedModel::Answer::kClassScore},
      {"class_probability", SavedModel::Answer::kClassProbability}};
  for (const auto& [known, answer] : kAnswers) {
    if (name == known) return answer;
  }
  raise({Code::kUsage, "no answer of a model is named '" + name + "'"});
}

NewArray<float> score(const SavedModel& model, const std::vector<std::string>& files, const nb::dict& rows,
                      const std::string& answer, std::uint64_t on_bad_row) {
  const SavedModel::Answer kind = answer_named(answer);
  const bool of_classes =
      kind == SavedModel::Answer::kClassScore || kind == SavedModel::Answer::kClassProbability;
  const TrainParts parts = parts_of(rows);
  std::vector<float> answers;
  if (parts.rows.size() == 1) answers.reserve(static_cast<std::size_t>(parts.rows.begin()->second->rows()));
  std::optional<nb::python_error> thrown;
  Status status;
  {
    const WithoutGil no_gil;
    const auto interrupted = [&thrown] {
      const WithGil gil;
      if (!thrown && PyErr_CheckSignals() != 0) thrown.emplace();
      return thrown.has_value();
    };
    const PipePatience patience(interrupted);
    status = model.score(
        files, parts, kind,
        [&](std::span<const float> some) {
          answers.insert(answers.end(), some.begin(), some.end());
          return !interrupted();
        },
        on_bad_row);
  }
  if (thrown) throw std::move(*thrown);
  check(status);
  const std::size_t count = answers.size();
  if (!of_classes) return array_of<NewArray<float>>(std::move(answers), {count});
  const std::size_t classes = model.classes();
  return array_of<NewArray<float>>(std::move(answers), {count / classes, classes});
}

nb::dict weights(const SavedModel& model) {
  nb::dict tables;
  for (const SavedTable& table : model.tables()) {
    std::vector<Key> keys;
    std::vector<float> rows;
    keys.reserve(table.rows);
    rows.reserve(table.rows * table.dim);
    check(model.weights(tables.size(), [&](std::span<const Key> its_keys, std::span<const float> its_rows) {
      keys.insert(keys.end(), its_keys.begin(), its_keys.end());
      rows.insert(rows.end(), its_rows.begin(), its_rows.end());
    }));
    const std::size_t count = keys.size();
    tables[table.name.c_str()] =
        nb::make_tuple(array_of<NewArray<Key, nb::ndim<1>>>(std::move(keys), {count}),
                       array_of<NewArray<float, nb::ndim<2>>>(std::move(rows), {count, table.dim}));
  }
  return tables;
}

SavedModel load(const std::string& directory) {
  Result<SavedModel> loaded = [&] {
    const WithoutGil no_gil;
    return SavedModel::load(directory);
  }();
  return value_of(std::move(loaded));
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<SavedModel>(module, "SavedModel", "A saved model in memory.")
      .def_static("load", &load, nb::arg("directory"))
      .def_prop_ro("name", &SavedModel::model)
      .def_prop_ro("loss", [](const SavedModel& self) { return std::string(loss_name(self.loss())); })
      .def_prop_ro("options", &SavedModel::options)
      .def_prop_ro("metrics", &SavedModel::metrics)
      .def_prop_ro("digest", &SavedModel::digest)
      .def("score", &score, nb::arg("files"), nb::arg("rows"), nb::arg("answer"), nb::arg("on_bad_row"))
      .def("weights", &weights, "By table: keys, and their rows.");
}

}  // namespace thalweg::python
