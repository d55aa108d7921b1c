// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/replay/computing.h"

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

// Which part of the time between a rank's calls its GPU computes, and which part it waits for its
// host to launch. All times of a rank are on one clock: docs/method.md, "Replayed jobs".
namespace ncclprobe::analysis::replay {

// The GPU's computing before each unit.
struct GpuComputing {
  std::vector<double> usual_ns;              // if nothing keeps it from computing
  std::vector<std::vector<double>> steps_ns; // of each step, by unit
  std::vector<double> host_late_ns;          // of each step: the GPU waits for its host
};
GpuComputing gpu_computing(const std::vector<UnitPlace>& units, const std::vector<bool>& waited,
                           const std::vector<TimedStep>& steps, const RecordedKernels& kernels);

// Whether a host waits for the GPU before a call, for example because it reads the loss. Then it
// never calls before the GPU has done everything, and its calls follow that end more steadily than
// its own call before: from step to step, because hosts have slow times.
class HostWaitSigns {
public:
  // The steps of one rank. Ranks with equally many units do the same.
  void add(const std::vector<UnitPlace>& units, const std::vector<TimedStep>& steps);
  bool waits(std::size_t units, std::size_t unit) const;

private:
  struct Signs {
    std::size_t calls = 0, before_end = 0; // of these: the host called while the GPU was busy
    // Changes from one step to the next; of these: the smaller ones since the GPU's end, ties half.
    double changes = 0, steadier_since_end = 0;
  };
  std::map<std::pair<std::size_t, std::size_t>, Signs> signs_; // by units, unit
};

// The host's own time before each unit of consecutive steps: CapturedCall::host_ns. Work that it
// launched before the first step began counts as launched then.
std::vector<std::vector<double>> host_times(const std::vector<UnitPlace>& units,
                                            const std::vector<bool>& host_waits,
                                            const std::vector<TimedStep>& steps);

// Communication of consecutive steps beside which the GPU does not compute. `computing_ns`: by step
// and unit. Computing is taken to be spread evenly over the time in which the host launches it.
double exposed_ns(const std::vector<UnitPlace>& units, const std::vector<bool>& waited,
                  const std::vector<bool>& host_waits, const std::vector<TimedStep>& steps,
                  const std::vector<std::vector<double>>& computing_ns);

} // namespace ncclprobe::analysis::replay
