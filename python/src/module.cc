// thalweg._core: the library's calls as the package's Python files use them.
#include "bindings.h"
#include "gil.h"

NB_MODULE(_core, module) {
  nanobind::set_leak_warnings(false);  // What a program still holds when it ends is no fault of its own.
  module.doc() = "The compiled part of thalweg; use the package thalweg.";
  thalweg::python::bind_rows(module);
  thalweg::python::bind_train(module);
  thalweg::python::bind_model(module);
  thalweg::python::bind_job(module);
  thalweg::python::bind_group(module);
  nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function(&thalweg::python::begin_end));
}
