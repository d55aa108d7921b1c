// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ncclprobe::launch {

// The last bytes of a stream of any length.
class OutputRing {
public:
  explicit OutputRing(std::size_t capacity) : capacity_(capacity) {}
  void append(std::string_view bytes);
  // At most `size` of the last bytes, from the start of a line if one starts there. Bytes that are
  // not printable UTF-8 become '?', so that the text fits into JSON and onto a terminal.
  std::string tail(std::size_t size) const;

private:
  std::size_t capacity_;
  std::string bytes_;    // up to capacity_; then used as a ring
  std::size_t next_ = 0; // where the next byte goes once it is full
};

// At most `count` last non-empty lines, joined by " | " and shortened: for a reason on one line.
std::string last_lines(std::string_view text, int count);

} // namespace ncclprobe::launch
