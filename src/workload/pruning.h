// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/trial.h"
#include "workload/nccl_selection.h"
#include "workload/nccl_values.h"

#include <string>
#include <vector>

namespace ncclprobe::workload {

// Where a sweep will run, and with what.
struct SweepGround {
  std::string backend;
  int ranks = 1;
  MachineShape machine;
  std::vector<NcclPlace> places;      // one per host; none: nothing is known
  Variables environment;              // settings that every trial already has
  std::vector<std::string> overrides; // names that are used exactly as the user gives them
};

// Why two variables contradict each other; empty if they do not.
std::string contradiction(const Variables& variables);

// Checks a sweep before anything is launched. Rejects values that NCCL would reject, leaves out
// what is known to fail or to mean something other than it says, and notes what is known to have no
// effect. On backends other than nvidia, NCCL's variables do nothing: their names and words are
// still checked, but nothing is left out.
class Pruner {
public:
  explicit Pruner(SweepGround ground);

  // Errors: invalid_argument if NCCL would reject a value everywhere or on one of these hosts, or
  // if a name is misspelt.
  Result<void> check(const std::vector<model::Setting>& combination);
  // False if this combination cannot be measured.
  bool keeps(const std::vector<model::Setting>& combination);
  // What a remaining combination will not do, or do differently.
  void warn_of(const std::vector<model::Setting>& combination);
  // The cells that NCCL can run with the combination.
  std::vector<model::Cell> possible(const std::vector<model::Setting>& combination,
                                    const std::vector<model::Cell>& cells);

  // One line each, no two alike.
  const std::vector<std::string>& left_out() const { return left_out_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

private:
  struct Remark {
    Judgement judgement;
    std::string text;
  };
  Variables with(const std::vector<model::Setting>& combination) const;
  Remark worst_of(const model::Setting& setting, const Variables& variables,
                  const std::vector<NcclPlace>& places) const;
  bool is_overridden(const std::string& name) const;
  std::vector<NcclPlace> places_to_refuse_by() const;
  void warn_of(const model::Setting& setting, const Variables& variables);

  SweepGround ground_;
  bool has_nccl_; // otherwise only names and words are checked
  std::vector<std::string> left_out_;
  std::vector<std::string> warnings_;
};

} // namespace ncclprobe::workload
