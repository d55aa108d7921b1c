// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/captured_step.h"
#include "workload/collective_benchmark.h"
#include "workload/companions.h"
#include "workload/in_process_cells.h"
#include "workload/nccl_selection.h"
#include "workload/nccl_values.h"
#include "workload/step_cells.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ncclprobe::workload {

// What one of the plan's settings tests; the default: nothing.
struct Combination {
  std::vector<model::Setting> environment;
  std::vector<model::Setting> libraries; // instead of those that all trials load
  std::string cpu_affinity;              // as in TrialSpec

  bool is_default() const { return *this == Combination{}; }
  std::string label() const; // "nccl=/b/libnccl.so.2 NCCL_PROTO=LL", "default"
  bool operator==(const Combination&) const = default;
};

// All inputs of the choice of trials. The command line and plan files both produce it.
struct PlanRequest {
  std::string backend;
  int ranks = 1;
  std::vector<model::Collective> collectives;
  std::vector<std::uint64_t> sizes; // bytes
  std::vector<std::uint64_t>
      counts; // elements, as NCCL's calls count them; in addition to the sizes
  std::vector<model::DataType> types{model::DataType::f32};
  std::vector<model::ReduceOp> ops{model::ReduceOp::sum};
  std::vector<model::Placement> placements{model::Placement::out_of_place};
  std::vector<int> roots{0};
  std::vector<int> splits{1}; // as in CollectiveRequest, from here on
  std::vector<int> streams{1};
  std::vector<std::uint64_t> offsets{0};
  std::vector<model::Launch> launches{model::Launch::direct};
  std::vector<int> priorities{0};
  bool launch_costs = false; // also the cost of launches (launch_benchmark.h)
  model::Memory memory = model::Memory::plain;
  StepMeasurement steps;          // if any: instead of the collectives
  std::vector<model::Cell> cells; // if any: instead of all above
  model::Timing timing;
  std::int64_t cell_deadline_ns = 30'000'000'000;
  std::int64_t startup_deadline_ns = 180'000'000'000;

  std::vector<Axis> axes;                  // their product is measured,
  std::vector<Axis> compared_libraries;    // times these, names to files,
  std::vector<std::string> cpu_affinities; // times these (launch/supervisor/cpu_policy.h),
  std::vector<std::vector<model::Setting>> settings; // plus these combinations as they are
  // Their product becomes further cells of every trial (in_process_cells.h).
  std::vector<Axis> in_process;
  std::map<int, std::vector<model::Setting>> per_rank; // in every trial, in addition
  std::vector<model::Setting> libraries; // loaded by all trials, unless they compare others
  int repeats = 2; // blocks: fresh-process trials per setting; the default gets two in each
  std::uint64_t seed = 0;

  std::map<std::string, std::string>
      environment; // the launching environment: variables that it sets are pinned
  std::vector<std::string> overrides; // names that may be swept nevertheless
  MachineShape machine;
  std::vector<NcclPlace> nccl_places; // one for each host
  Proof proof = Proof::automatic;
  model::TraceLevel trace = model::TraceLevel::off;
};

struct Plan {
  std::vector<model::TrialSpec> trials; // in the order they run
  std::vector<model::Setting> pinned;   // requested, but set in the environment, and left alone
  std::vector<std::string> notes;       // left out, and why; one line each
  std::vector<std::string> warnings;    // measured, but without the stated effect
  std::vector<model::CapturedStep> captured; // as RunHeader::captured
};

// The trials, in `repeats` random blocks. A block holds every distinct setting once and the default
// (no settings) twice, plus the traced twin of each if traces are wanted, in an order drawn from
// the seed, so changes over time affect all settings alike. The two defaults of block b are
// replicates 2b and 2b+1. The even and the odd ones are the two arms of the A/A comparison, which
// shows how far equal settings differ in this run. Without settings a block is one default. Every
// trial runs its cells in the same order, except for in-process settings (in_process_cells.h).
// Cells and settings that NCCL cannot run are left out (pruning.h). After all blocks come the
// companions of all settings, if wanted (companions.h). Each in-process setting has a companion of
// its own, because NCCL's log does not separate the cells of a trial. Deterministic: same request,
// same plan. Errors: invalid_argument (nothing to measure, a bad root, an empty axis, a setting for
// a rank outside the world, libraries compared on a backend that loads none, a value that NCCL or
// the backend rejects, a misspelt name, in-process settings for training steps).
Result<Plan> make_plan(const PlanRequest& request);

// As NCCL sees it: NCCL_HOSTID of --rank-set splits one host into several nodes. 0 where that is
// not known.
MachineShape nccl_machine(const PlanRequest& request);

// "NAME=a,b,[c,d]" -> axis with values a, b and "c,d". Errors: invalid_argument.
Result<Axis> parse_axis(std::string_view text);

// True for a valid environment variable name: letters, digits and _, no digit first.
bool is_variable_name(std::string_view name);

// The largest device memory in bytes that a rank needs for these cells.
std::uint64_t peak_bytes(const std::vector<model::Cell>& cells);

} // namespace ncclprobe::workload
