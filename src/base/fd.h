// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>

namespace ncclprobe::base {

// Owns one file descriptor. The destructor closes it and ignores the result: if a failed close
// means lost data, call close() and check.
class Fd {
public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  // 0 or errno of close(2); a closed Fd is left empty either way.
  int close();

private:
  int fd_ = -1;
};

// Calls write(2) until everything is written. 0 or errno.
int write_all(int fd, std::string_view bytes);

} // namespace ncclprobe::base
