// CHECK for our own errors: a broken invariant ends the process with the place and the reason.
#pragma once

namespace thalweg {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* why);
}

// A name without its folders, by which objects would differ from checkout to checkout.
#define THALWEG_CHECK(condition, why) \
  (static_cast<bool>(condition) ? void(0) : ::thalweg::check_failed(__FILE_NAME__, __LINE__, #condition, why))
