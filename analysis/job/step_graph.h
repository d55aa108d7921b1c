// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/found_steps.h"
#include "analysis/timeline/input_waits.h"
#include "analysis/timeline/phases.h"
#include "analysis/timeline/rank_reading.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <vector>

// The operations of all ranks in some steps of a captured job, and which of them meet. Ranks are
// indexes into StepGraph::ranks.
namespace ncclprobe::analysis::job {

inline constexpr std::int64_t k_time_unknown = std::numeric_limits<std::int64_t>::min();

// Times are on the common clock.
struct GraphOperation {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t enqueued_ns = k_time_unknown; // the host had handed it to NCCL
  std::uint64_t bytes = 0;
  std::uint32_t step = 0;         // its number in the job
  std::uint32_t meeting = 0;      // of StepRun::meetings
  std::uint32_t slot = 0;         // StepGraph::slots
  std::uint32_t communicator = 0; // StepGraph::communicators
  bool with_previous = false;     // of one launch with the operation before it
};

// The operations of several ranks that are one collective, or the two sides of a message.
struct Meeting {
  std::uint32_t members = 0; // that were seen
  std::uint32_t last_rank = 0, last_operation = 0;
  std::int64_t last_begin_ns = k_time_unknown, second_last_begin_ns = k_time_unknown;
  bool is_complete = false; // all were seen
};

// Consecutive steps. Operations of a rank are in the order in which it called NCCL.
struct StepRun {
  std::uint32_t kind = 0; // of FoundSteps::kinds
  std::uint32_t first = 0, steps = 0;
  std::vector<std::vector<GraphOperation>> ranks;
  std::vector<Meeting> meetings;
};

struct GraphCommunicator {
  std::uint64_t hash = 0;
  Role role = Role::unknown;
  int size = 0;
  std::vector<int> ranks; // of the job, those seen
};

// Operations that a rank's computing waits for alike.
struct OperationClass {
  Role role = Role::unknown;
  int size = 0;
  std::uint32_t function = 0; // TraceSource::texts
  trace::NcclKind kind = trace::NcclKind::collective;
  bool operator==(const OperationClass&) const = default;
};

// A place in the sequence of a step. Ranks with the same sequence share slots.
struct Slot {
  std::uint32_t kind = 0;  // of step
  std::uint32_t group = 0; // StepGraph::classes
};

// Of a rank's GPU, where its kernels were recorded; sorted, on the common clock.
struct GpuUse {
  timeline::Spans known; // all kernels and copies in these times were recorded
  timeline::Spans computing;
  timeline::Spans copies; // while nothing computes
  timeline::Spans input;  // while nothing computes or copies: it waited for its input
};

// Of a rank's host, by its NVTX ranges; sorted, on the common clock.
struct HostUse {
  std::map<timeline::PhasePath, timeline::Spans> phases;
  timeline::Spans loading; // its input
};

struct StepGraph {
  std::vector<int> ranks;
  std::vector<GpuUse> gpus;   // by rank
  std::vector<HostUse> hosts; // by rank
  std::vector<GraphCommunicator> communicators;
  std::vector<OperationClass> classes;
  std::vector<Slot> slots;
  std::vector<StepRun> runs; // ascending
  bool has_all_steps = true; // otherwise evenly chosen ones

  std::size_t rank_slot(std::size_t rank, std::uint32_t slot) const {
    return rank * slots.size() + slot;
  }
};

class StepGraphBuilder {
public:
  // Keeps at most about `most` operations. `texts`: TraceSource::texts.
  StepGraphBuilder(std::shared_ptr<const FoundSteps> found, std::vector<int> ranks,
                   std::vector<std::string> texts, std::size_t most = std::size_t{1} << 20);

  // From any thread; each with other ranks. Ranks without a clock are left out.
  void add(std::size_t rank, const timeline::RankReading& reading,
           const std::optional<timeline::ClockModel>& host);
  StepGraph take();

private:
  struct Raw {
    GraphOperation operation;
    std::uint64_t hash = 0;     // of the communicator
    std::uint64_t key = 0;      // of the meeting
    std::uint32_t function = 0; // TraceSource::texts
    std::int32_t direction = 0; // of a message: to the peer's rank
    trace::NcclKind kind = trace::NcclKind::collective;
  };
  void add_gpu(std::size_t rank, const timeline::RankReading& reading,
               const timeline::ClockModel& host, const timeline::Spans& loading);
  const StepRun* run_of(std::uint32_t step) const;
  void order(std::vector<Raw>& operations) const;
  std::uint32_t class_of(const Raw& raw);
  void place(std::vector<std::vector<Raw>>& ranks);
  void meet(const std::vector<std::vector<Raw>>& ranks);

  std::shared_ptr<const FoundSteps> found_;
  std::vector<std::uint64_t> type_bytes_; // by TextId::id
  std::vector<std::string> texts_;
  timeline::NumberedNames names_; // refers to the texts
  timeline::InputRanges input_ranges_;
  StepGraph graph_;
  std::vector<std::vector<Raw>> raw_; // by rank
};

} // namespace ncclprobe::analysis::job
