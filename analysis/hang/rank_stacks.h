// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "stacks/process_stacks.h"

#include "analysis/hang/verdict.h"
#include "analysis/report_value/report_value.h"

#include <cstddef>
#include <string>
#include <vector>

namespace ncclprobe::analysis::hang {

// Where the process of a rank is now.
struct RankStacks {
  int rank = 0;
  std::int64_t process = 0; // its number on this host
  std::string problem;      // why there are no threads
  std::vector<stacks::ThreadStack> threads;
};

// Ranks whose stacks tell most, as indices of Job::ranks: those for which the others wait, if they
// live on this host. At most `most`.
std::vector<std::size_t> ranks_to_look_at(const Job& job, const Verdict& verdict, std::size_t most);

// A row for each thread, or for each rank without threads.
TablePtr stacks_table(const std::vector<RankStacks>& all);
// The rows for people: where the main thread of each rank is.
View main_threads(const std::vector<RankStacks>& all, TablePtr table);

} // namespace ncclprobe::analysis::hang
