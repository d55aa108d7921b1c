// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/collective.h"
#include "model/schedule.h"

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

// A step's schedule in a form whose time can be computed: what every operation waits for, and its
// cost. In a schedule in which all ranks do the same, one rank represents all.
namespace ncclprobe::analysis::cost_model {

// An operation of several ranks.
struct Transfer {
  model::Collective collective = model::Collective::all_reduce; // send_recv: from one to another
  int ranks = 0;
  int ranks_per_node = 0; // of these ranks, on the node with the most of them
  int sharing =
      1; // number of communicators that do the same at once and have ranks on the same node
  std::uint64_t bytes = 0; // S as in nccl-tests
  auto operator<=>(const Transfer&) const = default;
};
// "all_gather of 64 ranks"
std::string in_words(const Transfer& transfer);

// An operation of one rank.
struct Work {
  // host: a job's host that launches (SpinOp::is_host).
  enum class Kind { product, spin, conversion, optimizer, copy, host };
  Kind kind = Kind::product;
  double amount = 0; // floating point operations, ns, bytes, elements, bytes, ns
  model::Activity activity = model::Activity::note;
  std::string stretch; // its stretch: stretch_name(); none: empty
};

// "backward backward 3 #1": the first stretch with that activity and label on `rank`; -1: ranks are
// alike, and the same name in a similar schedule means the same part of the step.
std::string stretch_name(const std::string& activity_and_label, int number, int rank);

class StepProgram {
public:
  // `node_of`: by global rank. Errors: invalid_argument if the schedule is not a step, or if its
  // ranks deadlock.
  static base::Result<StepProgram> of(const model::Schedule& schedule,
                                      const std::vector<int>& node_of);

  const std::vector<Transfer>& transfers() const { return transfers_; } // each once
  const std::vector<Work>& works() const { return works_; }
  bool is_alike() const { return alike_; } // one rank represents all

  // One step among many, or one launch of a schedule of several steps: means over ranks.
  struct Times {
    double step_ns = 0;
    double computing_ns = 0; // time in which a rank works alone
    double uncovered_ns = 0; // time in which it communicates and does not work
    double exposed_ns() const { return step_ns - computing_ns; }
  };
  // By transfer and by work.
  Times replay(const std::vector<double>& transfer_ns, const std::vector<double>& work_ns) const;

private:
  struct Action {
    enum class Kind { work, communicate, record, wait, begin } kind = Kind::work;
    int stream = 0;
    int index = 0; // of the work; of the first in joined_; of the event
    int count = 0; // of communications
  };
  struct Communication {
    int transfer = 0;
    int members = 1; // ranks that are replayed
  };
  friend class ProgramMaker;
  bool run(const std::vector<double>& transfer_ns, const std::vector<double>& work_ns,
           Times& times) const;

  bool alike_ = true;
  int streams_ = 0, events_ = 0;
  std::vector<Transfer> transfers_;
  std::vector<Work> works_;
  std::vector<Communication> communications_;
  std::vector<int> joined_; // communications that ranks reach, one group after another
  std::vector<std::vector<Action>> actions_; // by rank that is replayed
};

} // namespace ncclprobe::analysis::cost_model
