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

// `log`, or its beginning and end with a line between them that gives the omitted length.
std::string bounded_log(const std::string& log, std::size_t most_bytes = k_most_log_bytes);

// Collects a companion trial's evidence about its settings. Does nothing in other trials.
class EvidenceCollector {
public:
  // Before any library is loaded: opens the file for NCCL's log.
  EvidenceCollector(const model::TrialSpec& spec, std::map<std::string, std::string> environment);

  // NCCL's later activity belongs to this cell; -1: to none.
  void enter_cell(int cell);
  // `estimate_us`: the library's own estimate for one launch of the cell.
  void leave_cell(std::optional<double> estimate_us);
  // For each rank of this process; empty unless the trial is a companion. `backend_words`: lines
  // from the backend about itself.
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
  std::string estimates_; // one line each
  std::map<std::string, std::string> environment_;
};

} // namespace ncclprobe::worker
