// Trainings: run without the GIL, with calls back to Python and an ear for its signals.
#include "gil.h"
#include "thalweg/trainer.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "bindings.h"
#include "data/unpack/pipe_patience.h"
#include "errors.h"
#include "rows.h"
#include "train_options.h"

namespace nb = nanobind;

namespace thalweg::python {
namespace {

// What the training tells Python, on the thread that runs it but for messages.
class Listener {
 public:
  Listener(nb::object on_progress, nb::object on_epoch, nb::object on_message)
      : on_progress_(std::move(on_progress)),
        on_epoch_(std::move(on_epoch)),
        on_message_(std::move(on_message)) {}

  void listen(TrainerOptions& options) {
    options.on_progress = [this](const TrainProgress& progress) {
      if (is_over()) return;
      tell(on_progress_, progress);
      if (is_over()) trainer_->close();
    };
    if (!on_epoch_.is_none()) {
      options.after_epoch = [this](const TrainEpoch& epoch) {
        tell(on_epoch_, epoch);
        return !is_over();
      };
    }
    options.on_message = [this](TrainMessage kind, const std::string& line) {
      const WithGil gil;
      try {
        if (!on_message_.is_none()) on_message_(static_cast<int>(kind), line);
      } catch (nb::python_error& error) {
        // Ctrl-C may come while Python writes a line.
        if (error.matches(PyExc_Exception) || thrown_) return error.discard_as_unraisable(on_message_);
        thrown_.emplace(std::move(error));
      }
    };
  }
  // Whether a signal's handler, or a callback, has thrown by now.
  bool is_interrupted() {
    tell(nb::none(), 0);
    return is_over();
  }
  void close_on_request(Trainer& trainer) { trainer_ = &trainer; }
  // Throws what a callback or a signal's handler has thrown.
  void rethrow() {
    if (thrown_) throw std::move(*thrown_);
  }
  bool stopped() const { return stopped_; }

 private:
  bool is_over() const { return thrown_ || stopped_; }
  // Of Python or of numpy; 0 and other false answers are none.
  static bool is_false(const nb::object& answer) {
    if (answer.is(nb::handle(Py_False))) return true;
    return nb::isinstance(answer, nb::module_::import_("numpy").attr("bool_")) &&
           !nb::cast<bool>(nb::bool_(answer));
  }
  // Notes whether the callback returns False or throws, or a signal's handler does.
  template <class News>
  void tell(const nb::object& callback, const News& news) {
    const WithGil gil;
    if (thrown_) return;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (callback.is_none() || stopped_) return;
      const nb::object answer = callback(news);
      stopped_ = is_false(answer);
    } catch (nb::python_error& error) {
      thrown_.emplace(std::move(error));
    }
  }

  nb::object on_progress_, on_epoch_, on_message_;
  Trainer* trainer_ = nullptr;
  bool stopped_ = false;
  std::optional<nb::python_error> thrown_;
};

// What came out, and whether a callback has ended it early.
std::pair<TrainResult, bool> train(const nb::dict& given, const nb::dict& rows, nb::object on_progress,
                                   nb::object on_epoch, nb::object on_message) {
  TrainerOptions options;
  set_options(options, given);
  options.more.rows = parts_of(rows).rows;
  Listener listener(std::move(on_progress), std::move(on_epoch), std::move(on_message));
  listener.listen(options);
  TrainResult result;
  {
    const WithoutGil no_gil;
    const PipePatience patience([&listener] { return listener.is_interrupted(); });
    auto trainer = Trainer::open(std::move(options));
    if (trainer && !listener.is_interrupted()) {
      listener.close_on_request(*trainer);
      result = trainer->run();
    } else {
      result.status = trainer.status();
    }
  }
  listener.rethrow();
  const bool ended_early = result.complete && listener.stopped();
  if (!ended_early || result.status.code() != Code::kAborted) check(result.status);
  return {std::move(result), ended_early};
}

// A dictionary of each training of a sweep: its settings by their names, and what came of it.
nb::list trials_of(const TrainResult& result) {
  nb::list trials;
  for (const SweepTrial& trial : result.sweep) {
    nb::dict one;
    for (const SweepSetting& setting : trial.settings)  // The number that the fewest digits of the float say.
      one[setting.name.c_str()] = std::stod(fmt::format("{}", setting.value));
    one["valid_loss"] = trial.valid_loss;
    one["model_digest"] = trial.model_digest;
    one["seconds"] = trial.seconds;
    one["kept"] = trial.kept;
    trials.append(one);
  }
  return trials;
}

void bind_numbers(nb::module_& module) {
  nb::class_<HeldOutNumbers>(module, "HeldOutNumbers", "How a model does on rows that it was not trained on.")
      .def_ro("rows", &HeldOutNumbers::rows)
      .def_ro("logloss", &HeldOutNumbers::logloss)
      .def_ro("auc", &HeldOutNumbers::auc)
      .def_ro("rmse", &HeldOutNumbers::rmse)
      .def_ro("calibration", &HeldOutNumbers::calibration)
      .def_ro("metrics", &HeldOutNumbers::metrics)
      .def("__getstate__",
           [](const HeldOutNumbers& self) {
             return std::tuple(self.rows, self.logloss, self.auc, self.rmse, self.calibration, self.metrics);
           })
      .def("__setstate__",
           [](HeldOutNumbers& self, const std::tuple<std::uint64_t, double, double, double, double,
                                                     std::map<std::string, double>>& state) {
             const auto& [rows, logloss, auc, rmse, calibration, metrics] = state;
             new (&self) HeldOutNumbers{rows, logloss, auc, rmse, calibration, metrics};
           });
  nb::class_<TrainEpoch>(module, "TrainEpoch", "One pass over the training rows.")
      .def_ro("number", &TrainEpoch::number, "From 1.")
      .def_ro("examples", &TrainEpoch::examples)
      .def_ro("seconds", &TrainEpoch::seconds)
      .def_ro("train_loss", &TrainEpoch::train_loss, "Mean before each step's update.")
      .def_ro("held_out", &TrainEpoch::held_out)
      .def("__repr__",
           [](const TrainEpoch& self) {
             return fmt::format("<thalweg.TrainEpoch {}: {} examples, train loss {:.5f}>", self.number,
                                self.examples, self.train_loss);
           })
      .def("__getstate__",
           [](const TrainEpoch& self) {
             return std::tuple(self.number, self.examples, self.seconds, self.train_loss, self.held_out);
           })
      .def("__setstate__", [](TrainEpoch& self, const std::tuple<std::uint32_t, std::uint64_t, double, double,
                                                                 std::optional<HeldOutNumbers>>& state) {
        const auto& [number, examples, seconds, train_loss, held_out] = state;
        new (&self) TrainEpoch{number, examples, seconds, TrainCosts(), train_loss, held_out};
      });
  nb::class_<TrainProgress>(module, "TrainProgress", "A training under way.")
      .def_prop_ro(
          "elapsed",
          [](const TrainProgress& self) { return std::chrono::duration<double>(self.elapsed).count(); })
      .def_ro("epoch", &TrainProgress::epoch, "From 1.")
      .def_ro("done", &TrainProgress::done, "Part of all passes, 0 to 1; None where that is not known.")
      .def_ro("examples", &TrainProgress::examples)
      .def_ro("train_loss", &TrainProgress::train_loss)
      .def_ro("auc", &TrainProgress::auc, "Of a sample of rows, each scored before it was learnt.");
}

}  // namespace

void bind_train(nb::module_& module) {
  bind_numbers(module);
  nb::class_<TrainResult>(module, "TrainNumbers", "What a training came to.")
      .def_ro("complete", &TrainResult::complete)
      .def_ro("model", &TrainResult::model)
      .def_ro("model_digest", &TrainResult::model_digest)
      .def_ro("model_rows", &TrainResult::model_rows)
      .def_ro("seconds", &TrainResult::seconds)
      .def_ro("examples", &TrainResult::examples)
      .def_ro("skipped_rows", &TrainResult::skipped_rows)
      .def_ro("train_loss", &TrainResult::train_loss)
      .def_ro("progressive_loss", &TrainResult::progressive_loss)
      .def_ro("samples_per_second", &TrainResult::samples_per_second)
      .def_ro("valid_loss", &TrainResult::valid_loss)
      .def_ro("valid_accuracy", &TrainResult::valid_accuracy)
      .def_ro("epochs", &TrainResult::epochs)
      .def_ro("best_epoch", &TrainResult::best_epoch)
      .def_ro("kept_epoch", &TrainResult::kept_epoch)
      .def_ro("not_kept", &TrainResult::not_kept)
      .def_ro("steps", &TrainResult::steps)
      .def_ro("notes", &TrainResult::notes)
      .def_ro("warnings", &TrainResult::warnings)
      .def_prop_ro("sweep", trials_of);
  module.def("train", &train, nb::arg("options"), nb::arg("rows"), nb::arg("on_progress").none(),
             nb::arg("on_epoch").none(), nb::arg("on_message").none(), "See thalweg.train().");
}

}  // namespace thalweg::python
