// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/tcp_frames.h"

#include "packed_again.h"

#include <cstddef>
#include <cstdint>

using namespace ncclprobe;

// The first byte says which message the rest is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 7) {
  case 0:
    (void)fuzz::packed_again<launch::Challenge>(bytes);
    break;
  case 1:
    (void)fuzz::packed_again<launch::Hello>(bytes);
    break;
  case 2:
    (void)fuzz::packed_again<launch::Welcome>(bytes);
    break;
  case 3:
    (void)fuzz::packed_again<launch::Place>(bytes);
    break;
  case 4:
    (void)fuzz::packed_again<launch::Assembled>(bytes);
    break;
  case 5:
    (void)fuzz::packed_again<launch::ClockTurn>(bytes);
    break;
  default:
    (void)fuzz::packed_again<launch::ClockQuestion>(bytes);
  }
  return 0;
}
