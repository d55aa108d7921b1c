// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/machine_json.h"

#include "fuzz/use_machine.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ncclprobe;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::use(topology::read_machine_json(text, "fuzz"));
  return 0;
}
