// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_request.h"

namespace ncclprobe::workload {

// A step as PyTorch's DistributedDataParallel does it (torch/nn/parallel/distributed.py,
// torch/csrc/distributed/c10d/reducer.cpp of 2.x, from the second step on):
//
// - The forward pass, then the backward pass. A gradient is copied into its bucket when it is there
//   (mark_variable_ready_dense: one kernel a parameter, which divides by the number of ranks too);
//   with `bucket_view` it is there already, and divided where it is. These kernels are "prepare".
//   Here those of a bucket run one after the other when its last gradient is there, so that
//   stretches of the timeline are few: the same work, a little later.
// - A full bucket is reduced in place on the communication stream, which waits for the copies.
// - `compression` is bf16_compress_hook or fp16_compress_hook (default_hooks.py): the bucket is
//   converted on the compute stream, reduced in half the bytes, and converted back on a stream of
//   its own (then() of a future runs on one of its pool), behind the reduction. With a hook the
//   gradients are copied into the bucket without a division, so in a view nothing is done.
// - At the end of the backward pass the compute stream waits for bucket after bucket, and copies
// its
//   gradients back unless they are views (finalize_backward). Then the optimizer.
// - `accumulate` N: no_sync() in all but the last micro-step.
//
// `tp` and `ddp+tp` cut the layers among neighbouring ranks (tensor_parallel.h), and do all this
// among the ranks that have the same part of them. `moe` shares the experts (expert_parallel.h).
//
// Left out: the broadcast of buffers before the forward pass (batch norm's statistics), kernels
// that are no products, and what autograd does to add gradients of several micro-steps.
//
// A rank gives to communication in a step: its parameters x bytes of the type that is reduced, and
// what tensor_parallel.h and expert_parallel.h say, and with `found_inf` 4 bytes. One replica of
// the model: no buckets.
base::Result<model::Schedule> make_ddp_step(const StepRequest& request, const StepScope& scope);

} // namespace ncclprobe::workload
