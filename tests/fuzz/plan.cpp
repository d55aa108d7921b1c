// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "fuzz/memory_file.h"

#include "launch/cli/job/plan_file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace ncclprobe;

// A plan that was read can be written, and the written one says the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  cli::RunOptions options;
  if (!cli::apply_plan_file(file.path(), options))
    return 0;
  const std::string written = cli::write_plan_file(options);
  cli::RunOptions again;
  if (!cli::apply_plan_text(written, "again", again) || cli::write_plan_file(again) != written)
    std::abort();
  (void)cli::write_plan_file(options, cli::PlanFormat::json);
  return 0;
}
