// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"
#include "workload/nccl_selection.h"

#include <string>
#include <vector>

namespace ncclprobe::workload {

// Leaves out of a sweep, before anything is launched, what is known to fail or to mean something
// else than it says, and notes what is known to have no effect. Other backends than nvidia have no
// such rules: there everything is kept.
class Pruner {
public:
  // `environment`: what is set in every trial already.
  Pruner(std::string backend, int ranks, Machine machine, Variables environment);

  // False if this combination cannot be measured as it stands.
  bool keeps(const std::vector<model::Setting>& combination);
  // Those of the cells that NCCL can carry out under the combination.
  std::vector<model::Cell> possible(const std::vector<model::Setting>& combination,
                                    const std::vector<model::Cell>& cells);

  // One line each, no two alike.
  const std::vector<std::string>& left_out() const { return left_out_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

private:
  Variables with(const std::vector<model::Setting>& combination) const;
  std::string against(const model::Setting& setting);
  void warn_of(const model::Setting& setting, const Variables& variables);

  bool rules_apply_;
  int ranks_;
  Machine machine_;
  Variables environment_;
  std::vector<std::string> left_out_;
  std::vector<std::string> warnings_;
};

} // namespace ncclprobe::workload
