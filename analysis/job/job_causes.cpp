// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/job_causes.h"

namespace ncclprobe::analysis::job {

base::Result<JobCauses> job_causes(const StepGraph& graph, double error_ns,
                                   const std::vector<WhatIf>& what_ifs,
                                   const std::vector<std::string>& texts) {
  const StepModel model = fit_model(graph);
  JobCauses out{graph.communicators,       graph.classes,
                graph.has_all_steps,       find_held_up(graph, model, error_ns),
                check_model(graph, model), {}};
  for (const WhatIf& what : what_ifs) {
    NCCLPROBE_TRY_ASSIGN(auto predicted, predict(graph, model, out.checks, what, texts));
    out.what_ifs.emplace_back(what, std::move(predicted));
  }
  return out;
}

} // namespace ncclprobe::analysis::job
