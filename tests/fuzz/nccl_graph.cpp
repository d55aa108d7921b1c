// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/nccl_graph.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ncclprobe;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)topology::read_nccl_graphs(text, "fuzz");
  return 0;
}
