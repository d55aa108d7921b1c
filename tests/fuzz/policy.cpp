// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "fuzz/memory_file.h"

#include "launch/cli/doctor/policy_file.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ncclprobe;
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  (void)cli::read_policy(file.path());
  return 0;
}
