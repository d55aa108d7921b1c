// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "launch/supervisor/clock_envelope.h"
#include "launch/supervisor/launcher.h"
#include "launch/supervisor/tree_mail.h"

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ncclprobe::launch {

// Longer than anything that one host does while the others wait, such as an inventory.
inline constexpr std::chrono::seconds k_gather_patience{180};

// How many supervisors each passes messages on to, at most (tree.h).
inline constexpr int k_fan_out = 8;

enum class Keep { no, yes };

// soon: after all messages that have arrived. What is told meanwhile then shares a message.
enum class When { now, soon };

// What a supervisor sends to the leader. Reports with the same bytes become one on the way, with
// the parts of all.
struct Report {
  std::string bytes;
  int trial = 0;
  Parts parts{};
  Keep keep = Keep::yes; // until later trials: it is sent again if a supervisor on the way is lost
};

struct ReceivedMessage {
  int from = 0; // the first of the senders
  std::string bytes;
  RankSet senders{}; // who sent it in these words
  Parts parts{};
  bool direct = false; // by post()
};

// The supervisors of a run, and how they reach each other. Nothing here blocks inside MPI: waiting
// is "test, then sleep", because a blocked MPI call spins at 100% of a core.
class Fleet {
public:
  virtual ~Fleet() = default;
  virtual int rank() const = 0; // of this supervisor; 0 is the leader
  virtual int size() const = 0;
  virtual std::string description() const = 0; // "Open MPI v4.1.4", or "" without MPI

  // Queues bytes for another supervisor (or this one), without the tree; never waits for the
  // receiver. Messages between two supervisors keep their order.
  virtual void post(int to, std::string bytes) = 0;
  // Leader only: queues bytes for these supervisors, or for all, down the tree. Each gets them
  // once, in order, also if a supervisor on the way is lost later (Keep::yes).
  virtual void tell(const RankSet& to, int trial, Keep keep, When when, std::string bytes) = 0;
  // Queues bytes for the leader, up the tree. Supervisors on the way hold them for a moment and
  // combine what is alike.
  virtual void report(Report report) = 0;
  // Leader only: these are silent. The leader then reaches those below them itself, and is reached.
  virtual void bypass(const RankSet& silent) = 0;
  // The next message that has arrived, if any. Also makes progress with pending sends.
  virtual std::optional<ReceivedMessage> poll() = 0;
  // Gathers bytes from all supervisors, by rank; only between trials. Waits with small sleeps.
  // Whatever each supervisor does before it calls this must take less than `patience`. Errors:
  // unavailable, with the ranks and hosts that did not answer, on every supervisor that can be
  // reached; after that this one is on its own. Unreachable supervisors time out on their own.
  virtual Result<std::vector<std::string>>
  all_gather(std::string bytes, std::chrono::nanoseconds patience = k_gather_patience) = 0;
  // Compares this supervisor's clock with the leader's; all call it at about the same time. A tree,
  // so it takes log2(size) steps. Nothing if another supervisor did not answer in time.
  virtual std::optional<ClockReading> compare_clocks() = 0;
  // Supervisors whose connection has ended: they will never answer again. MPI does not report this;
  // its launcher ends the job.
  virtual const std::set<int>& lost() const {
    static const std::set<int> k_nobody;
    return k_nobody;
  }
  // Call it when another supervisor will never answer again: this one then ends without waiting for
  // anybody. The launcher ends the rest of the job when it sees this process exit.
  virtual void leave_alone() = 0;
  // Leaves the job in order; all supervisors call it within a bounded time. After that nobody waits
  // for this process. Only rank() and size() may be called afterwards. The destructor calls it if
  // nobody has.
  virtual void leave() = 0;
  // Ends the whole job at once with this exit code; does not return.
  [[noreturn]] virtual void abort(int exit_code) = 0;

  // Leader only: of the trial ordered last. Later runs of the same supervisors count on, because
  // messages of earlier trials may still be under way.
  int last_trial = 0;
};

// One supervisor, no MPI.
std::unique_ptr<Fleet> make_local_fleet();

// Calls MPI_Init (thread level funneled; the calling thread is the only one that talks to MPI) and,
// on destruction, MPI_Finalize. Errors: unavailable, with MPI's words.
Result<std::unique_ptr<Fleet>> make_mpi_fleet(int* argc, char*** argv);

// The MPI that this program is linked with: "Open MPI v4.1.4".
std::string mpi_library();

// For launchers without MPI: over TCP, where their variables say. Errors: unavailable, with the
// ranks that did not join, or why this one may not.
Result<std::unique_ptr<Fleet>> make_tcp_fleet(const EnvJob& job);

// By the launcher that started this process. Errors: also those of reading its variables.
Result<std::unique_ptr<Fleet>> join_fleet(const Variables& environment);

} // namespace ncclprobe::launch
