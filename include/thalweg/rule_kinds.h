// The built-in update rules, a line each: the kind, the name by which it is asked for and stored, the type
// with its formula in src/table/rule/, and whether RuleSpec::l1 means something to it. They travel by number,
// so a new one comes last.
#pragma once

// clang-format off
#define THALWEG_RULES(RULE)                     \
  RULE(kAdd,      "add",      Add,      false)  \
  RULE(kAssign,   "assign",   Assign,   false)  \
  RULE(kSgd,      "sgd",      Sgd,      true)   \
  RULE(kMomentum, "momentum", Momentum, false)  \
  RULE(kNesterov, "nesterov", Nesterov, false)  \
  RULE(kAdagrad,  "adagrad",  Adagrad,  true)   \
  RULE(kRmsprop,  "rmsprop",  Rmsprop,  false)  \
  RULE(kAdam,     "adam",     Adam,     false)  \
  RULE(kAdamW,    "adamw",    AdamW,    false)  \
  RULE(kFtrl,     "ftrl",     Ftrl,     true)
// clang-format on
