#include "bindings.h"
namespace thalweg::python {
void bind_group(nanobind::module_&) {}
}  // namespace thalweg::python
