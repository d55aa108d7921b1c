// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/rows.h"
#include "trace/spool_reader.h"

#include "analysis/hang/job.h"

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace ncclprobe::analysis::hang {

// What is known of the process that wrote a spool.
struct SpoolOrigin {
  std::string host;
  std::string boot; // processes of one boot share a clock
  std::uint32_t process = 0;
  std::uint64_t started_ns = 0; // CLOCK_REALTIME
  ProcessState state = ProcessState::unknown;
  std::int64_t here = 0;   // RankCalls::here
  std::int64_t now_ns = 0; // of a living process: the clock of its rows, now
};

// Reads the spools of a captured job, block by block, in memory that does not grow with them.
class CapturedCalls {
public:
  // The next blocks are of this file.
  void begin_file(SpoolOrigin origin);
  void add(const trace::SpoolBlock& block);
  // All ranks. If a rank has files of several processes, the newest process counts.
  Job take();

private:
  struct Communicator {
    std::uint64_t hash = 0;
    std::string name;
    int size = 0;
    int rank = -1; // in it
  };
  struct Operation {
    std::uint32_t id = 0;
    std::uint16_t communicator = 0;
    trace::NcclKind kind = trace::NcclKind::collective;
    std::uint64_t sequence = 0;
    bool was_enqueued = false;
    Call call;
  };
  struct Progress { // of an operation on the GPU
    std::uint32_t ended = 0, open = 0;
    std::uint64_t stop_ns = 0;   // of the last channel that ended
    std::uint64_t looked_ns = 0; // it was not over then
    bool was_running = false;    // at that look
  };
  using Counts = std::map<std::pair<std::uint16_t, std::string>, std::uint64_t>; // by function
  struct Rank {
    SpoolOrigin origin;
    bool knows_ends = true;
    std::map<std::uint16_t, Communicator> communicators;
    std::deque<Operation> operations;
    Counts first;     // the first number of each function that was seen
    Counts forgotten; // calls before `operations`
    std::unordered_map<std::uint32_t, Progress> progress;
    std::uint32_t forgotten_until = 0; // an id
    std::uint64_t last_ns = 0;
  };

  void add_operation(Rank& rank, const trace::NcclOperationRow& row);
  void add_progress(Rank& rank, const trace::NcclChannelRow& row);
  void add_look(Rank& rank, const trace::NcclOpenRow& row);
  const std::string& text(trace::TextId id) const;
  std::map<int, Rank*> newest_ranks(Job& job);
  // The rank's own calls, and those of functions that only others were seen to call.
  static Counts counts_before(const Rank& rank, const std::map<int, Rank*>& all);
  static std::uint64_t calls_before(const Rank& other, std::uint16_t communicator,
                                    const std::string& function, const Operation& anchor);
  static void set_positions(Rank& rank, Counts counts);
  static void set_states(Rank& rank);

  SpoolOrigin origin_;
  std::vector<std::string> texts_{""};
  std::map<std::tuple<int, std::string, std::uint32_t>, Rank> ranks_; // rank, boot, process
};

} // namespace ncclprobe::analysis::hang
