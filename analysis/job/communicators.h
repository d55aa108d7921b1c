// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/job_operation.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

// What a job uses each communicator for.
namespace ncclprobe::analysis::job {

// data: gradients of equal models. sharded_data: parameters and gradients of which each rank holds
// a part. tensor: parts of one layer. pipeline: neighbouring stages. expert: all-to-alls built of
// sends and receives, or NCCL's own. control: a few bytes, such as barriers and losses.
enum class Role : std::uint8_t { unknown, data, sharded_data, tensor, pipeline, expert, control };

inline constexpr std::uint64_t k_control_bytes = 4096; // at most

// Operations of one function and size, in the steps of one kind, over all ranks that were seen.
struct OperationUse {
  std::uint64_t operations = 0;
  std::int64_t busy_ns = 0; // on the GPU; waits for other ranks are part of it
};

struct CommunicatorUse {
  std::map<std::pair<std::string, std::uint64_t>, OperationUse> operations; // by function and bytes
  std::set<int> distances;            // of sends, from the sender to the receiver
  std::uint64_t gathers_in_a_row = 0; // all-gathers that follow one, without another function
};

struct JobCommunicator {
  std::string name;         // NCCL's; empty: it has none
  int size = 0;             // that it should have
  std::map<int, int> ranks; // by rank in it: those seen, by their number in the job
  std::map<std::uint32_t, CommunicatorUse> uses; // by kind of step
};
using JobCommunicators = std::map<std::uint64_t, JobCommunicator>; // by CommunicatorRow::hash

// `kinds`: of each operation's step; operations outside of steps do not count.
void add_use(JobCommunicators& to, int rank, const timeline::RankTrace& trace,
             std::span<const JobOperation> operations, std::span<const std::uint32_t> kinds,
             const std::vector<std::string>& texts);

// From the kind of step in which it moves most. `steps`: of each kind. The rules are in
// docs/method.md, "Captured jobs".
Role role_of(const JobCommunicator& communicator, const std::vector<std::uint64_t>& steps);

} // namespace ncclprobe::analysis::job
