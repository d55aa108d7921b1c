// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

// The memory that a part of this program takes from operator new, in bytes: a figure that depends
// on no machine. The program has one thread.
namespace ncclprobe::test_launch {

std::int64_t counted_bytes();
std::int64_t most_counted_bytes(); // since the reset
void reset_counted_bytes();        // what is there now does not count

// What is allocated while one of these exists counts until it is freed.
class Counted {
public:
  explicit Counted(bool counts = true) : before_(std::exchange(s_counts, counts)) {}
  ~Counted() { s_counts = before_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  static bool s_counts;

private:
  bool before_;
};

} // namespace ncclprobe::test_launch
