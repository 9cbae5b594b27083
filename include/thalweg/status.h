// The world's errors as values. A code says what the caller should do; the message names what, where and
// what was expected. Our own errors (broken invariants) crash instead, see src/base/check.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace thalweg {

enum class Code : std::uint8_t {
  kOk = 0,
  kUsage = 1,       // Wrong arguments or an impossible combination: change the call.
  kConfig = 2,      // A configuration file or variable is wrong: change it.
  kData = 3,        // Input data is wrong at the named place: fix or skip it.
  kIo = 4,          // The operating system refused: look at the named path, port or limit.
  kRefused = 5,     // A peer refused this request for good: the request is wrong.
  kRetry = 6,       // Busy now: the same request may succeed later.
  kStale = 7,       // The sender's map is old: fetch the new one, then send again.
  kPeerLost = 8,    // A named peer is gone.
  kTimeout = 9,     // A deadline passed; the message names who was waited for.
  kNonFinite = 10,  // A value became NaN or infinite.
  kModel = 11,      // A model or snapshot is damaged or of another version.
  kAborted = 12,    // Stopped on request.
};
const char* code_name(Code code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  bool operator==(const Status&) const = default;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};
inline Status ok_status() { return {}; }

// A value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace thalweg
