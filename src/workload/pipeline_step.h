// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_request.h"

#include <utility>
#include <vector>

namespace ncclprobe::workload {

// A step in which each rank has a stage of the model, like Megatron-LM without interleaving
// (megatron/core/pipeline_parallel/schedules.py): a batch is cut into micro-batches, activations
// are sent to the next stage, their gradients to the previous one.
//
// 1f1b: as many forward passes as stages follow, then forward and backward passes in turn, then the
// remaining backward passes; a send and the matching receive from the same neighbour are one group.
// gpipe: all forward passes, then all backward passes. The compute stream waits for every transfer,
// as Megatron's does. Each rank's optimizer runs last.
//
// Stages are neighbouring layers with about the same number of operations, at least one each; a
// block is not cut. Micro-batches: the requested number, or as many as divide the batch evenly, at
// most twice the number of stages.
//
// With M micro-batches and a_s output bytes of stage s per micro-batch, rank s contributes M (a_s
// unless it is the last + a_(s-1) unless it is the first) to communication per step. Errors:
// unsupported for more stages than blocks, micro-batches that do not divide the batch, or
// accumulation (which micro-batches already are).
Result<model::Schedule> make_pipeline_step(const StepRequest& request, const StepScope& scope);

// First and last (exclusive) layer of each stage. Fewer stages than requested if there are not
// enough blocks.
std::vector<std::pair<std::size_t, std::size_t>> pipeline_stages(const ModelSpec& model,
                                                                 int stages);

} // namespace ncclprobe::workload
