// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/run_options.h"
#include "model/inventory.h"

namespace ncclprobe::cli {

inline constexpr const char* k_default_sizes = "1K:256M:x4";
inline constexpr const char* k_default_sizes_on_cpu = "1K:16M:x4";

// Fills options that are unset with the default job: all_reduce, all_gather and reduce_scatter with
// the default settings and a small sweep that suits the machine, sized to reach verdicts in about
// two minutes. The sweep is added only if no settings were requested, and never to training steps.
void fill_defaults(RunOptions& options, const std::string& backend,
                   const std::vector<model::HostInventory>& hosts, int ranks);

} // namespace ncclprobe::cli
