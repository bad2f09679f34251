// How a call ended, and a value or the reason why there is none.
//
// These are types of our own, in plain C++17, so that an application need not have the same Abseil as this library and
// so that a status can carry what the server said about trying again.
#ifndef KERNELWIRE_CLIENT_STATUS_H_
#define KERNELWIRE_CLIENT_STATUS_H_

#include <cassert>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace kernelwire::client {

/// gRPC's codes, by their numbers on the wire.
enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,   // the request is wrong; the message names the field
  kDeadlineExceeded = 4,  // the timeout passed, or the server saw that it would
  kNotFound = 5,          // no such model; the message lists near names
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,  // with a retry hint: busy, come back; without: a size limit
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,  // a result that its type cannot hold
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,  // not reachable, draining, or its device is lost
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// "RESOURCE_EXHAUSTED" for kResourceExhausted; "CODE 99" for a number without a name.
std::string NameOf(StatusCode code);

/// OK, or a code with the server's whole message. A value: copy and move freely.
class Status {
 public:
  /// The server's advice on repeating the call (`grpc-retry-pushback-ms`): wait this long; negative means never.
  using RetryAfter = std::optional<std::chrono::milliseconds>;

  Status() = default;  // OK
  Status(StatusCode code, std::string message, RetryAfter retry_after = std::nullopt)
      : code_(code), message_(std::move(message)), retry_after_(retry_after) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  RetryAfter retry_after() const { return retry_after_; }
  /// "OK", or "NOT_FOUND: no model 'sofmax'; did you mean 'softmax'?"
  std::string ToString() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  RetryAfter retry_after_;
};

/// A T, or a status that is not OK.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose, for `return value;`
  Result(Status status) : status_(std::move(status)) {  // NOLINT: the same, for `return status;`
    assert(!status_.ok() && "a Result without a value needs a reason");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  /// Requires: ok().
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace kernelwire::client

#endif  // KERNELWIRE_CLIENT_STATUS_H_
