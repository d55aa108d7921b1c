// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/verdict/default_arms.h"

namespace ncclprobe::analysis {

DefaultArms default_arms(const SettingResult& result) {
  DefaultArms arms;
  for (const ProcessTime& process : result.processes)
    (process.replicate % 2 == 0 ? arms.even_ns : arms.odd_ns)
        .push_back(process.time.over_batches_ns.median);
  return arms;
}

} // namespace ncclprobe::analysis
