// The value of a row before its first update.
#pragma once

#include <span>

#include "thalweg/ids.h"
#include "thalweg/options.h"

namespace thalweg {

// Fills `row` with the initial values of `key`: a pure function of (key, column, init.seed), equal on every
// machine. Uniform: 24 random bits a column. Normal: the centred sum of twelve 16-bit uniforms (Irwin-Hall),
// so no libm.
void fill_initial(const InitSpec& init, Key key, std::span<float> row);

}  // namespace thalweg
