// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/record.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::worker {

// Longer logs lose their middle.
inline constexpr std::size_t k_most_log_bytes = 1024 * 1024;

// `log`, or its beginning and end with a line between them that says how much is missing.
std::string bounded_log(const std::string& log, std::size_t most_bytes = k_most_log_bytes);

// "NCCL_A, NCCL_B": what a configuration file of NCCL's sets. Values stay where they are.
std::string names_set_by(const std::string& configuration);

// Gathers what a companion trial shows of its settings. Does nothing in other trials.
class EvidenceCollector {
public:
  // Before any library is loaded: opens the file that NCCL will log into.
  EvidenceCollector(const model::TrialSpec& spec, std::map<std::string, std::string> environment);

  // What NCCL does from now on belongs to this cell; -1: to none.
  void enter_cell(int cell);
  // `estimate_us`: what the library itself expected one launch of the cell to take.
  void leave_cell(std::optional<double> estimate_us);
  // For each rank of this process; empty if the trial is no companion. `backend_words`: lines that
  // the backend says of itself.
  std::vector<model::Evidence> collect(const std::vector<int>& ranks, int world_size,
                                       const std::vector<std::string>& backend_words) const;

private:
  std::string configuration_files() const;
  std::string log() const;
  std::string profiler() const;

  bool active_;
  bool of_nccl_;
  bool has_log_ = false;
  int cell_ = -1;
  std::string estimates_; // a line each
  std::map<std::string, std::string> environment_;
};

} // namespace ncclprobe::worker
