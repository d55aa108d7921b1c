// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <tl/expected.hpp>

#include <exception>
#include <string>
#include <utility>

namespace ncclprobe::base {

// The kind of a failure. Code branches on it, never on message text.
enum class Errc {
  invalid_argument, // the user's input is wrong
  not_found,
  io,          // file or descriptor
  unsupported, // this build, library or device cannot do it: a trial becomes `skipped`
  timed_out,
  crashed,
  protocol,    // a frame or file does not follow its format
  mismatch,    // ranks, libraries or files disagree
  unavailable, // a resource (GPU, port, slot) is missing
  peer_ended,  // another rank ended or gave up; the cause is there
  failed,      // a library call failed; the message contains its own text
};

// An error as data: what happened, where, and (hint) what the reader can do.
struct Error {
  Errc code = Errc::failed;
  std::string message;
  std::string hint;

  // "message (hint)" on one line.
  std::string text() const { return hint.empty() ? message : message + " (" + hint + ")"; }
};

template <typename T>
using Result = tl::expected<T, Error>;

// return fail(Errc::io, "cannot open {}: {}", path, reason);
template <typename... Args>
tl::unexpected<Error> fail(Errc code, fmt::format_string<Args...> text, Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(text, std::forward<Args>(args)...), {}});
}

inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

// Adds context before the message of an error that is passed on.
inline tl::unexpected<Error> with_context(Error error, const std::string& context) {
  error.message = context + ": " + error.message;
  return tl::unexpected<Error>(std::move(error));
}

// The same error as an exception, where it ends the process (workers) or a constructor fails.
class Exception : public std::exception {
public:
  explicit Exception(Error error) : error_(std::move(error)), text_(error_.text()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const Error& error() const { return error_; }

private:
  Error error_;
  std::string text_;
};

template <typename... Args>
[[noreturn]] void raise(Errc code, fmt::format_string<Args...> text, Args&&... args) {
  throw Exception(Error{code, fmt::format(text, std::forward<Args>(args)...), {}});
}

// The value, or the error as an Exception.
template <typename T>
T value_or_throw(Result<T> result) {
  if (!result)
    throw Exception(std::move(result.error()));
  if constexpr (!std::is_void_v<T>)
    return std::move(*result);
}

} // namespace ncclprobe::base

// Every folder speaks of errors in these words.
namespace ncclprobe {
using base::Errc;
using base::Error;
using base::Exception;
using base::fail;
using base::raise;
using base::Result;
using base::value_or_throw;
using base::with_context;
} // namespace ncclprobe

// Passes an error on, or continues. NCCLPROBE_TRY_ASSIGN(value, expression) declares `value`.
#define NCCLPROBE_TRY(expression)                                                                  \
  do {                                                                                             \
    if (auto ncclprobe_result = (expression); !ncclprobe_result)                                   \
      return ::ncclprobe::base::fail(std::move(ncclprobe_result.error()));                         \
  } while (false)
#define NCCLPROBE_CONCAT_(a, b) a##b
#define NCCLPROBE_CONCAT(a, b) NCCLPROBE_CONCAT_(a, b)
#define NCCLPROBE_TRY_ASSIGN(declaration, expression)                                              \
  auto NCCLPROBE_CONCAT(ncclprobe_result_, __LINE__) = (expression);                               \
  if (!NCCLPROBE_CONCAT(ncclprobe_result_, __LINE__))                                              \
    return ::ncclprobe::base::fail(                                                                \
        std::move(NCCLPROBE_CONCAT(ncclprobe_result_, __LINE__).error()));                         \
  declaration = std::move(*NCCLPROBE_CONCAT(ncclprobe_result_, __LINE__))
