// What each file here adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace thalweg::python {

void bind_rows(nanobind::module_& module);
void bind_train(nanobind::module_& module);
void bind_model(nanobind::module_& module);
void bind_job(nanobind::module_& module);
void bind_group(nanobind::module_& module);

}  // namespace thalweg::python
