#include "errors.h"

namespace nb = nanobind;

namespace thalweg::python {

void raise(const Status& status) {
  const nb::object error = nb::module_::import_("thalweg._errors")
                               .attr("of_code")(code_name(status.code()), status.message().c_str());
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

}  // namespace thalweg::python
