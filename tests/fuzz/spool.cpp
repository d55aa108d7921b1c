// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "fuzz/memory_file.h"
#include "trace/spool_reader.h"

#include "analysis/hang/captured_calls.h"
#include "analysis/hang/verdict.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

using namespace ncclprobe;

// A captured job of two processes, whose spools are the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace hang = analysis::hang;
  const fuzz::MemoryFile file({reinterpret_cast<const char*>(data), size});
  const auto header = trace::read_spool_header(file.path());
  if (!header)
    return 0;
  hang::CapturedCalls calls;
  for (std::uint32_t process : {header->process, header->process + 1}) {
    calls.begin_file({"host", "boot", process, header->realtime_ns, hang::ProcessState::gone, 0});
    (void)trace::read_spool(file.path(), [&](const trace::SpoolBlock& block) { calls.add(block); });
  }
  (void)hang::judge(calls.take(), 0);
  return 0;
}
