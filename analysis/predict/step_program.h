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

// A step's schedule as something whose time can be computed: what every operation waits for, and
// what it costs. Of a schedule in which all ranks do the same, one rank stands for all.
namespace ncclprobe::analysis::cost_model {

// Something that ranks do together.
struct Transfer {
  model::Collective collective = model::Collective::all_reduce; // send_recv: from one to another
  int ranks = 0;
  int ranks_per_node = 0;  // of these ranks, on the node that has the most of them
  int sharing = 1;         // communicators that do the same at once and have ranks on the same node
  std::uint64_t bytes = 0; // S as nccl-tests means it
  auto operator<=>(const Transfer&) const = default;
};
// "all_gather of 64 ranks"
std::string in_words(const Transfer& transfer);

// Something that a rank does by itself.
struct Work {
  enum class Kind { product, spin, conversion, optimizer, copy };
  Kind kind = Kind::product;
  double amount = 0; // floating point operations, ns, bytes, elements, bytes
  model::Activity activity = model::Activity::note;
  std::string stretch; // that it is in: stretch_name(); none: empty
};

// "backward backward 3 #1": the first stretch of that activity and label, `rank` of which; -1:
// ranks are alike, and the same name in another schedule of the kind means the same part of the
// step.
std::string stretch_name(const std::string& activity_and_label, int number, int rank);

class StepProgram {
public:
  // `node_of`: by global rank. Errors: invalid_argument for a schedule that is no step, or whose
  // ranks wait for each other for ever.
  static base::Result<StepProgram> of(const model::Schedule& schedule,
                                      const std::vector<int>& node_of);

  const std::vector<Transfer>& transfers() const { return transfers_; } // each once
  const std::vector<Work>& works() const { return works_; }
  bool is_alike() const { return alike_; } // one rank stands for all

  // One step among many: means over ranks.
  struct Times {
    double step_ns = 0;
    double computing_ns = 0; // in which a rank works by itself
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
    int members = 1; // that are replayed
  };
  friend class ProgramMaker;
  bool run(const std::vector<double>& transfer_ns, const std::vector<double>& work_ns,
           Times& times) const;

  bool alike_ = true;
  int streams_ = 0, events_ = 0;
  std::vector<Transfer> transfers_;
  std::vector<Work> works_;
  std::vector<Communication> communications_;
  std::vector<int> joined_; // communications that ranks come to, one group after another
  std::vector<std::vector<Action>> actions_; // by rank that is replayed
};

} // namespace ncclprobe::analysis::cost_model
