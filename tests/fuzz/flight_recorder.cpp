// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/flight_recorder.h"

#include "analysis/hang/pickle.h"
#include "analysis/hang/verdict.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

using namespace ncclprobe;
using namespace ncclprobe::analysis::hang;

// The same dump of two ranks: all of it must be readable, and no verdict may need more than it has.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto pickle = Pickle::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!pickle)
    return 0;
  FlightRecorderCalls calls;
  if (!calls.add("rank_0", *pickle, 0) || !calls.add("rank_1", *pickle, 0))
    return 0;
  const Job job = calls.take();
  const Verdict verdict = judge(job, 0);
  if ((verdict.cause == Cause::none) == verdict.call.has_value())
    std::abort();
  return 0;
}
