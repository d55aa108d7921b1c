// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/model_file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

using namespace ncclprobe;

// A model that was read can be written, and the written one is the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const bool is_json = text.starts_with('{');
  const auto model =
      is_json ? workload::parse_model_json(text, "fuzz") : workload::parse_model_toml(text, "fuzz");
  if (!model)
    return 0;
  const std::string written = workload::write_model_json(*model);
  const auto again = workload::parse_model_json(written, "again");
  if (!again || workload::write_model_json(*again) != written)
    std::abort();
  return 0;
}
