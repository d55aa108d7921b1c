// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/step_request.h"

namespace ncclprobe::workload {

// A step like PyTorch's DistributedDataParallel (torch/nn/parallel/distributed.py,
// torch/csrc/distributed/c10d/reducer.cpp of 2.x, from the second step on):
//
// - The forward pass, then the backward pass. A gradient is copied into its bucket when it is ready
//   (mark_variable_ready_dense: one kernel per parameter, which also divides by the number of
//   ranks); with `bucket_view` it is already there, and divided in place. These kernels are
//   "prepare". Here the kernels of a bucket run one after the other when its last gradient is
//   ready, to keep the number of timeline stretches small: the same work, a little later.
// - A full bucket is reduced in place on the communication stream, which waits for the copies.
// - `compression` is bf16_compress_hook or fp16_compress_hook (default_hooks.py): the bucket is
//   converted on the compute stream, reduced in half the bytes, and converted back on a stream of
//   its own (then() of a future runs on one of its pool), after the reduction. With a hook the
//   gradients are copied into the bucket without a division, so in a view nothing is done.
// - At the end of the backward pass the compute stream waits for bucket after bucket, and copies
//   its gradients back unless they are views (finalize_backward). Then the optimizer runs.
// - `accumulate` N: no_sync() in all but the last micro-step.
//
// `tp` and `ddp+tp` split the layers among neighbouring ranks (tensor_parallel.h); all of this then
// happens among ranks with the same part. `moe` shares the experts (expert_parallel.h).
//
// Left out: the broadcast of buffers before the forward pass (batch norm's statistics), kernels
// other than products, and autograd's additions of gradients over several micro-steps.
//
// Bytes that a rank contributes to communication per step: its parameters x bytes of the reduced
// type, plus the bytes of tensor_parallel.h and expert_parallel.h, and with `found_inf` 4. With one
// replica of the model there are no buckets.
Result<model::Schedule> make_ddp_step(const StepRequest& request, const StepScope& scope);

} // namespace ncclprobe::workload
