// What becomes of the numbers of a column, see NumberForm.
#pragma once

#include "data/column/columns.h"

namespace thalweg {

// The value of an entry. Precondition: the shape is not kBucket.
float in_form(float v, const NumberForm& form);
// The key of a number's category in a column of shape kBucket with this salt.
Key bucket_key(float v, Key salt);

}  // namespace thalweg
