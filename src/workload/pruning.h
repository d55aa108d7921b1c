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

// Where and with what a sweep is to run.
struct SweepGround {
  std::string backend;
  int ranks = 1;
  Machine machine;
  std::vector<NcclPlace> places;      // one for each host; none: nothing is known
  Variables environment;              // what is set in every trial already
  std::vector<std::string> overrides; // names that are taken as the user gives them
};

// Refuses a sweep that NCCL would refuse, leaves out of one what is known to fail or to mean
// something else than it says, and notes what is known to have no effect, all before anything is
// launched. On other backends than nvidia NCCL's variables do nothing: there their names and words
// are still looked at, but nothing is left out.
class Pruner {
public:
  explicit Pruner(SweepGround ground);

  // Errors: invalid_argument, where NCCL would refuse a value wherever it runs, or on one of these
  // hosts, and where a name is misspelt.
  base::Result<void> check(const std::vector<model::Setting>& combination);
  // False if this combination cannot be measured as it stands.
  bool keeps(const std::vector<model::Setting>& combination);
  // What a combination that is kept will not do, or not as it says.
  void warn_of(const std::vector<model::Setting>& combination);
  // Those of the cells that NCCL can carry out under the combination.
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
  bool has_nccl_; // else only names and words are looked at
  std::vector<std::string> left_out_;
  std::vector<std::string> warnings_;
};

} // namespace ncclprobe::workload
