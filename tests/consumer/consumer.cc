// Uses the installed library as somebody else would.
#include <cstdio>
#include <cstring>

#include "thalweg/status.h"

int main() {
  const thalweg::Status refused(thalweg::Code::kRefused, "no such table");
  if (refused.is_ok() || std::strlen(thalweg::code_name(refused.code())) == 0) return 1;
  std::printf("%s: %s\n", thalweg::code_name(refused.code()), refused.message().c_str());
  return 0;
}
