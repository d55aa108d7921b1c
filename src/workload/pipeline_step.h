// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_request.h"

#include <utility>
#include <vector>

namespace ncclprobe::workload {

// A step in which each rank has a stage of the model, as Megatron-LM does it without interleaving
// (megatron/core/pipeline_parallel/schedules.py): a batch is cut into micro-batches, activations
// are sent to the next stage, their gradients to the one before.
//
// 1f1b: as many forward passes as stages follow, then a forward and a backward pass in turn, then
// the backward passes that are left; a send and the receive that meets it from the same neighbour
// are one group. gpipe: all forward passes, then all backward passes. The compute stream waits for
// every transfer, as Megatron's does. At the end each rank's optimizer.
//
// Stages are neighbouring layers with about the same number of operations, each at least one; a
// block is not cut. Micro-batches: as many as asked for, or as fit into the batch evenly, at most
// twice as many as stages.
//
// With M micro-batches, a_s bytes that stage s puts out for one: rank s gives
// M (a_s unless it is the last + a_(s-1) unless it is the first) to communication in a step.
// Errors: unsupported for more stages than blocks, micro-batches that do not divide the batch,
// accumulation (which micro-batches are already).
base::Result<model::Schedule> make_pipeline_step(const StepRequest& request,
                                                 const StepScope& scope);

// First and last (exclusive) layer of each stage. Fewer than asked for if there are not so many
// blocks.
std::vector<std::pair<std::size_t, std::size_t>> pipeline_stages(const ModelSpec& model,
                                                                 int stages);

} // namespace ncclprobe::workload
