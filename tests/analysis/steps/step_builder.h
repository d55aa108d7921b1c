// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cell_label.h"
#include "model/run.h"

#include <vector>

// Cells of training steps made by hand: every figure follows from the arguments.
namespace ncclprobe::analysis_test {

// Data parallel, two buckets: forward; backward 1, bucket 0; backward 2, bucket 1; optimizer.
// StepParts omits communication or computing. An input copy, if there is one, begins with the step,
// whose end waits for it.
enum class InputCopied { no, yes };
model::Schedule step_schedule(const std::vector<int>& ranks,
                              model::StepParts parts = model::StepParts::all,
                              InputCopied copied = InputCopied::no);

// One step of one rank, ns. Stretches of the compute stream follow each other, and the optimizer
// waits for the buckets. A bucket begins when its gradients are ready and the previous one is over.
struct StepLengths {
  std::int64_t forward = 100;
  std::int64_t backward_1 = 100;
  std::int64_t backward_2 = 100;
  std::int64_t bucket_0 = 80;
  std::int64_t bucket_1 = 60;
  std::int64_t optimizer = 50;
  std::int64_t idle = 10; // before "step end"
  std::int64_t copy = 0;
};
// Appends the marks of such a step: on the rank's clock it begins where the batch's last mark is.
void add_step(std::vector<model::Mark>& marks, const model::Schedule& schedule, int rank, int batch,
              int iteration, const StepLengths& lengths);

// A cell of such steps with its marks and samples: `batches` of two steps each, with the lengths
// given for each rank. Input is copied if the label says so.
struct StepCellArguments {
  model::StepLabel label;
  std::uint64_t bytes = 1 << 20;
  std::vector<StepLengths> lengths{}; // by index of the label's ranks
  int batches = 2;
};
void add_step_cell(model::TrialRecord& trial, const StepCellArguments& arguments);

} // namespace ncclprobe::analysis_test
