// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_request.h"

namespace ncclprobe::workload {

// A step like PyTorch's fully_shard (FSDP2), with each block wrapped and then the model, its root
// (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py and _fsdp_collectives.py of 2.x):
//
// - Each rank keeps 1/n of every group of parameters: one group per block, and one for the rest.
// - Forward: the root's parameters are gathered and kept. Each block's are gathered and copied
//   out of the gathered array ("prepare", one kernel on the compute stream). The host runs ahead,
//   so `prefetch` further blocks are gathered while this one computes. There are prefetch + 1
//   arrays to gather into; an array is free after the copy out.
// - Backward, blocks in reverse: with `reshard` (ZeRO-3) they are gathered again, those of
//   `prefetch` blocks ahead before a block computes; otherwise they are still present (ZeRO-2).
//   Then a block's gradients are copied together ("prepare") and reduce-scattered. Before that
//   copy the compute stream waits for the previous reduce_scatter (reduce_scatter_state). The
//   root's gradients are last.
// - In PyTorch gathering and reducing have a stream each but one communicator, in which NCCL keeps
//   them in order: here they are on one stream.
// - The optimizer works on the rank's own part, after the last reduce_scatter.
// - `accumulate` N: set_requires_gradient_sync(False) in all but the last micro-step.
//
// With `fsdp+tp` the layers are split first (tensor_parallel.h). Every group is padded to a
// multiple of n elements (PyTorch pads each parameter's first dimension), and summed, not averaged.
//
// With s_g = ceil(elements of group g / n) and e bytes per element, a rank contributes per step:
// - e (2 sum_blocks s_g + s_root) to all_gathers in each micro-step (ZeRO-2: each group once),
// - e n sum_groups s_g to reduce_scatters,
// - 4 bytes with `found_inf`.
// One rank: no communication, and no copies.
Result<model::Schedule> make_fsdp_step(const StepRequest& request, const StepScope& scope);

} // namespace ncclprobe::workload
