// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "wire/message.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace ncclprobe;

// What was read must be the same after it was sent again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const auto* bytes = reinterpret_cast<const char*>(data);
  // The first byte says in which pieces the rest comes.
  const std::size_t piece = data[0] == 0 ? size : data[0];
  wire::Decoder decoder;
  for (std::size_t at = 1; at < size; at += piece) {
    decoder.feed(bytes + at, std::min(piece, size - at));
    while (true) {
      const auto message = decoder.next();
      if (!message)
        return 0;
      if (!*message)
        break;
      const std::string frame = wire::encode(**message);
      wire::Decoder again;
      again.feed(frame.data(), frame.size());
      const auto second = again.next();
      if (!second || !*second || wire::encode(**second) != frame)
        std::abort();
    }
  }
  return 0;
}
