// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/suitability/node_in_question.h"
#include "analysis/suitability/prices.h"
#include "analysis/timeline/trace_window.h"

#include <cstdlib>

// The files with the readers of plans, policies and lists of nodes name these functions, but
// reading never calls them. Their libraries would double the time to build the fuzzers.
namespace ncclprobe::analysis {

base::Result<timeline::WindowRequest> timeline::parse_window(const std::string&) {
  std::abort();
}

std::string gpus_text(const GpuInQuestion&) {
  std::abort();
}

std::optional<double> price_of(const std::string&, const std::vector<const knowledge::GpuModel*>&,
                               const Prices&) {
  std::abort();
}

} // namespace ncclprobe::analysis
