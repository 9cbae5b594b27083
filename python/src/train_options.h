// Options of a training, as keyword arguments of Python say them.
#pragma once

#include <nanobind/nanobind.h>

#include "thalweg/trainer.h"

namespace thalweg::python {

// Those that are None stay as they are. ValueError names an argument that is unknown or not of its type.
void set_options(TrainerOptions& options, const nanobind::dict& given);

}  // namespace thalweg::python
