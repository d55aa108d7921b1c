// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/layout.h"
#include "launch/supervisor/supervisor_message.h"
#include "launch/supervisor/tree_fleet.h"

#include <deque>
#include <memory>
#include <vector>

// Thousands of supervisors in one thread: the real code above the links, which are queues that
// count. Time stands still while any message is under way.
namespace ncclprobe::test_launch {

class SimulatedFleet;

std::int64_t cpu_time_ns(); // of this thread

// One supervisor of a simulated fleet; the leader's is a launch::Fleet for the real Supervisor.
class SimulatedLinks : public launch::TreeFleet {
public:
  SimulatedLinks(SimulatedFleet& fleet, int rank, int size, int fan_out)
      : TreeFleet(rank, size, fan_out), fleet_(fleet) {}
  std::string description() const override { return ""; }
  std::optional<launch::ClockReading> compare_clocks() override { return std::nullopt; }
  void leave() override {}
  [[noreturn]] void abort(int) override { std::abort(); }

  using TreeFleet::begin_gather;
  using TreeFleet::bypass_missing;
  using TreeFleet::end_gather;
  using TreeFleet::gather_answer;
  using TreeFleet::here;
  using TreeFleet::leader_has_all;

  struct Counts {
    std::int64_t sent = 0, received = 0, bytes = 0;
  };
  Counts counts;
  bool dead = false;
  std::deque<std::pair<int, Bytes>> arrived;

protected:
  void send(int to, const Bytes& bytes) override;
  std::optional<Arrived> receive() override;
  std::set<int> unsent() override { return {}; }
  launch::Network network() const override { return launch::Network::mpi; }
  std::int64_t now_ns() const override;

private:
  SimulatedFleet& fleet_;
};

// A report of an exchange without its parts, which all ranks send.
struct SharedReport {
  int trial = 0;
  std::string key;
  launch::Report report;
};

// What a rank's supervisor and worker do in a trial of one cell, as the leader sees it.
struct ScriptedFollower {
  int samples = 0; // of each cell
  int cells = 1;
  int groups_of = 0; // > 0: so many neighbours share a communicator, not all ranks
  bool reported = false;
  void take(SimulatedLinks& links, const launch::SupervisorMessage& message, SharedReport& shared);
};

class SimulatedFleet {
public:
  // Rank 0 leads and has no ranks of its own; the others have one each.
  SimulatedFleet(int supervisors, int fan_out, ScriptedFollower follower = {});

  SimulatedLinks& leader() { return *links_.front(); }
  SimulatedLinks& at(int rank) { return *links_[static_cast<std::size_t>(rank)]; }
  int size() const { return static_cast<int>(links_.size()); }
  launch::Layout layout() const; // eight supervisors a host
  // Lets all but the leader work until nothing is under way. False: nothing was.
  bool run_followers();
  void let_time_pass() { now_ns_ += 1'000'000; }
  std::int64_t now_ns() const { return now_ns_; }
  std::int64_t followers_ns() const { return followers_ns_; } // CPU time
  void reset_counts();
  // Of the supervisor with the most.
  std::int64_t most_messages() const;
  std::int64_t all_messages() const;
  bool follow = true; // the followers take part in trials; otherwise they only pass on

private:
  friend class SimulatedLinks;
  void take_messages(int rank);

  std::vector<std::unique_ptr<SimulatedLinks>> links_;
  std::vector<ScriptedFollower> followers_;
  std::deque<int> to_run_;
  std::int64_t now_ns_ = 1;
  std::int64_t followers_ns_ = 0;
  std::string last_bytes_; // most get the same: it is decoded once
  launch::SupervisorMessage last_;
  SharedReport shared_;
};

} // namespace ncclprobe::test_launch
