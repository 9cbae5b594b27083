// Words that options choose from where a list of the program's parts has them.
#pragma once

#include <string_view>

namespace thalweg {

// Each with '|' between its words, in the list's order.
std::string_view format_choices();         // Those of the input, and auto.
std::string_view column_format_choices();  // Of which those that columns say something to, and auto.
std::string_view named_format_choices();   // And those whose label and weight have names.
std::string_view model_choices();
std::string_view factor_model_choices();  // Those that have factors.
std::string_view field_model_choices();   // Those that need fields.
std::string_view dense_model_choices();   // Those whose tables are all dense.
std::string_view hidden_model_choices();
std::string_view deep_model_choices();  // Those with layers above their factors.
std::string_view text_model_choices();  // Those with layers between.
std::string_view rule_choices();        // Update rules of gradients.
std::string_view l1_rule_choices();     // Those that --l1 means something to.

}  // namespace thalweg
