// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/by_kernels_section.h"

#include "analysis/report/step_text.h"
#include "base/text_table.h"

namespace ncclprobe::analysis {

using base::TextTable;

std::string render_by_kernels(const std::vector<const steps::StepResult*>& rows) {
  TextTable table({{"ranks"},
                   {"parts", TextTable::Align::left},
                   {"step ms"},
                   {"compute"},
                   {"comm"},
                   {"hidden"},
                   {"exposed"},
                   {"overlap"}});
  int trial = 0;
  bool any = false;
  for (const steps::StepResult* row : rows) {
    const std::optional<steps::ByKernels>& one = row->by_kernels;
    if (!one || one->communication_ns == 0)
      continue;
    any = true;
    trial = one->trial;
    table.add_row({ranks_text(*row), parts_text(row->step.parts), ms_text(one->step_ns),
                   ms_text(one->compute_ns), ms_text(one->communication_ns),
                   ms_text(one->hidden_ns), ms_text(one->exposed_ns),
                   percent_text(one->hidden_ns / one->communication_ns) + "%"});
  }
  return any ? fmt::format("\n  Communication by kernels, as --timeline --trial {} shows it\n",
                           trial) +
                   table.render(2)
             : "";
}

} // namespace ncclprobe::analysis
