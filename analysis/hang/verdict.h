// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/hang/job.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::analysis::hang {

enum class Cause {
  none,              // nothing hangs
  not_called,        // ranks have not called what others wait in
  mismatch,          // ranks called different collectives, or one with different arguments
  unmatched_message, // a send without its receive, or the other way round
  order,             // each of these ranks waits for the next one
  not_begun,         // called everywhere, but the GPU of some ranks has not begun it
  transfer,          // all ranks have called it with equal arguments, and it does not end
};

// In what two calls differ; the first that differs counts.
enum class Argument { function, data_type, count, root, algorithm, protocol };

struct Mismatch { // of one collective
  std::size_t group = 0;
  std::uint64_t position = 0;
  Argument argument = Argument::function;
  std::vector<int> ranks; // global; those that differ from most others
  Call theirs, others;
  // The position at which the other ranks made the call that these made here, if they did.
  std::optional<std::uint64_t> elsewhere;
};

struct CallPlace {      // a call of the job
  std::size_t rank = 0; // index in Job::ranks
  std::size_t call = 0; // index in RankCalls::calls
};

// A rank of a group: where it stands.
struct Standing {
  std::size_t group = 0;
  int member = 0;                // rank in the group
  int rank = -1;                 // global; -1: unknown
  std::optional<std::size_t> of; // index in Job::ranks; nothing: it left no record
  std::optional<CallPlace> open; // the first call that is not over
  std::optional<CallPlace> last; // the last call
  std::uint64_t called = 0;      // position of its last collective, plus 1
  std::uint64_t behind = 0;      // collectives that others have called after that
  std::int64_t waits_ns = 0;     // in `open`
};

struct Verdict {
  Cause cause = Cause::none;
  std::optional<CallPlace> call; // that hangs, on one of the waiting ranks
  std::optional<Mismatch> mismatch;
  std::vector<Standing> blamed;    // ranks for which the others wait, or where it does not end
  std::vector<int> waiting;        // global ranks
  std::int64_t waits_ns = 0;       // the longest
  bool ends_known = true;          // false: the source says nothing about ends, so nothing can hang
  bool in_progress = false;        // operations are open, but not for long enough
  std::vector<Standing> standings; // by group and rank in it
  std::vector<Mismatch> mismatches;
};

// `least_ns`: an operation that is open for less does not hang.
Verdict judge(const Job& job, std::int64_t least_ns);

} // namespace ncclprobe::analysis::hang
