// What columns are that nobody has said: from rows of all over the data.
#pragma once

#include <string>
#include <string_view>

#include "data/column/columns.h"
#include "data/column/member_kinds.h"
#include "data/read_options.h"

namespace thalweg {

// Whether a column of this name has ids, codes or names of things by number: "user_id", "zip", "C14".
bool name_says_id(std::string_view name);

// `rows`: whole lines without a header, kTextPad readable bytes behind them. Sets `facts` of all columns; of
// those whose kind is not told,
// - numbers become categories where many cells are no numbers; where they are whole and the name says id,
//   where they are far from 0 beside how much they differ, or where the labels follow single values and not
//   their order (the F test for lack of fit, Draper and Smith, Applied Regression Analysis, section 2.1);
// - what differs in each of at least 100 rows, and is text, an id by name or a running number, is left out.
// `choose_scales`: numbers without a told scale are divided by the mean size of those that are not 0, to
// three digits; where all are far from 0, their mean is subtracted first, and where the largest hundredth
// makes up nine tenths of that mean it is of the others.
void guess_columns(std::string_view rows, bool choose_scales, Columns& columns);

// Members of JSON lines by the same rules, as columns in the order in which these lines have them; those that
// are arrays or that `kinds` leaves out are none of them.
Columns guess_members(std::string_view rows, const ReadOptions& options, const MemberKinds& kinds);
// Those of them that ReadOptions::learnt knows neither as a number nor by a category that these lines have.
Result<Columns> new_members(std::string_view rows, const ReadOptions& options, Columns members);
// What was decided against what values are, as ReadOptions::columns says it.
std::string guessed_items(const Columns& members);

}  // namespace thalweg
