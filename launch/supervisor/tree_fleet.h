// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/fleet.h"
#include "launch/supervisor/no_answer.h"
#include "launch/supervisor/patient_sleep.h"
#include "launch/supervisor/tree.h"

#include <deque>

namespace ncclprobe::launch {

// What all fleets share: messages go along a tree (tree.h), over links that a subclass provides.
//
// Down: each supervisor passes a message on to the children below whom it has receivers.
// Up: a supervisor holds reports until its whole branch has sent the same, or for a moment, and
// sends them on as one bundle. The moments grow, so a branch whose supervisors are all at
// different points still costs few messages.
// If a supervisor on the way is silent, the leader adopts those below it (bypass). They send again
// what they sent in the last trials, and the leader sends again what it told them.
class TreeFleet : public Fleet {
public:
  TreeFleet(int rank, int size, int fan_out);

  int rank() const final { return rank_; }
  int size() const final { return size_; }
  void post(int to, std::string bytes) final;
  void tell(const RankSet& to, int trial, Keep keep, When when, std::string bytes) final;
  void report(Report report) final;
  void bypass(const RankSet& silent) final;
  std::optional<ReceivedMessage> poll() final;
  Result<std::vector<std::string>> all_gather(std::string bytes,
                                              std::chrono::nanoseconds patience) final;
  void leave_alone() final { alone_ = true; }

protected:
  using Bytes = std::shared_ptr<const std::string>;
  struct Arrived {
    int from = 0;
    std::string bytes;
  };

  // Queues bytes for another supervisor; never waits. Each pair's messages keep their order.
  virtual void send(int to, const Bytes& bytes) = 0;
  virtual std::optional<Arrived> receive() = 0;
  // Receivers that have not taken all that was sent. Also makes progress.
  virtual std::set<int> unsent() = 0;
  virtual void wait(PatientSleep& rest) { rest(); } // a moment, for messages
  virtual bool linked(int) const { return true; }   // without anybody in between
  virtual Network network() const = 0;
  virtual std::int64_t now_ns() const { return base::monotonic_ns(); }

  // A gather in steps; all_gather() takes them until it is over.
  int begin_gather(std::string bytes);
  const RankSet& here(int gather) const { return gathering_.at(gather).from; } // leader only
  bool leader_has_all(int gather) const { return here(gather).covers(0, size_); }
  Gathered end_gather(int gather, const std::optional<Error>& problem); // leader only
  std::optional<Gathered> gather_answer(int gather);                    // of the leader
  void bypass_missing(int gather);
  // Takes what has arrived, and sends what is due.
  void pump();

  std::vector<std::string> hosts_; // by rank; empty if not known yet
  bool alone_ = false;             // do not wait for the others

private:
  struct Pace {
    std::int64_t interval_ns; // how long the next incomplete bundle is held
    std::int64_t since_ns;    // when the last one was sent
  };
  struct Kept {
    int gather = 0, trial = 0;
    Bytes mail;
  };
  struct Told {
    Down down;
    Keep keep = Keep::yes;
  };
  struct Seen {
    int gather = 0, trial = 0;
    RankSet from;
  };

  bool take(Arrived arrived);
  void take_down(std::string mail);
  void take_up(Bundle bundle);
  void deliver(Up report);
  void send_down(Down down, Keep keep, When when);
  void flush_down();
  void pass_down(const std::vector<Branch>& branches, const DownBundle& bundle, const Bytes& mail);
  void hold(Up report);
  void flush();
  void flush_if_due();
  void adopt(int rank);
  void bypass_branch(int rank);
  void forget_before(int trial);
  TreePlace place_of(int rank) const { return place_in_tree(rank, size_, fan_out_); }
  Result<std::vector<std::string>> gather_here(int gather, std::chrono::nanoseconds patience);
  Result<std::vector<std::string>> hand_in(int gather, std::chrono::nanoseconds patience);

  const int rank_;
  const int size_;
  const int fan_out_;
  TreePlace place_;
  int parent_;
  std::deque<ReceivedMessage> inbox_;

  // Up.
  std::vector<Up> held_;
  std::size_t held_bytes_ = 0;       // at most: equal parts count more than once
  std::map<std::string, Seen> seen_; // what passed up, by the bytes of the report
  std::int64_t due_ns_ = 0;          // 0: nothing is held
  Pace pace_;
  std::deque<Kept> sent_up_;

  // Down. On the leader also: those that it reaches itself.
  std::int64_t sequence_ = 0;
  std::vector<Branch> reached_;
  std::vector<Told> to_send_down_;
  std::deque<Down> sent_down_;
  RankSet adopted_, bypassed_;

  int gathers_ = 0;
  int gathers_ended_ = 0;              // on the leader
  std::map<int, Up> gathering_;        // on the leader, by number
  std::map<int, std::string> answers_; // to gathers
};

} // namespace ncclprobe::launch
