// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>

namespace ncclprobe::support {

// One to eight changes: a bit, a byte, a run of 0xFF, a cut, a piece copied elsewhere.
inline std::string mutate(std::string bytes, std::mt19937& random) {
  auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random);
  };
  for (std::size_t changes = 1 + below(8); changes > 0 && !bytes.empty(); --changes) {
    std::size_t at = below(bytes.size());
    switch (below(5)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(below(256));
      break;
    case 2:
      bytes.replace(at, 8, 8, '\xff');
      break;
    case 3:
      if (below(8) == 0)
        bytes.resize(at);
      break;
    default: {
      std::size_t from = below(bytes.size());
      bytes.replace(at, 16, bytes.substr(from, 16));
    }
    }
  }
  return bytes;
}

} // namespace ncclprobe::support
