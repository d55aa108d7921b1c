// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/traced_calls.h"

#include <algorithm>

namespace ncclprobe::nvidia {
namespace {

constexpr TracedCall k_runtime[] = {
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy2DAsync_v3020, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemset2DAsync_v3020, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020, CallPurpose::order},
    {CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, CallPurpose::order},
    {CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020, CallPurpose::order},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemset3DAsync_v3020, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy3DAsync_v3020, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020, CallPurpose::order},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy3DPeerAsync_v4000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, CallPurpose::order},
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, CallPurpose::launch},
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000, CallPurpose::launch},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_ptds_v7000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_ptsz_v7000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy2DAsync_ptsz_v7000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemset_ptds_v7000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_ptsz_v7000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemset2DAsync_ptsz_v7000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_ptsz_v7000, CallPurpose::order},
    {CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_ptsz_v7000, CallPurpose::order},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemset3DAsync_ptsz_v7000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy3DAsync_ptsz_v7000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_ptsz_v7000, CallPurpose::order},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy3DPeerAsync_ptsz_v7000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000, CallPurpose::launch},
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000, CallPurpose::launch},
    {CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, CallPurpose::graph_launch},
    {CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000, CallPurpose::graph_launch},
    {CUPTI_RUNTIME_TRACE_CBID_cudaEventRecordWithFlags_v11010, CallPurpose::order},
    {CUPTI_RUNTIME_TRACE_CBID_cudaEventRecordWithFlags_ptsz_v11010, CallPurpose::order},
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060, CallPurpose::launch},
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060, CallPurpose::launch},
#if CUPTI_API_VERSION >= 26 // CUDA 12.8
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyBatchAsync_v12080, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyBatchAsync_ptsz_v12080, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy3DBatchAsync_v12080, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy3DBatchAsync_ptsz_v12080, CallPurpose::copy},
#endif
#if CUPTI_API_VERSION >= 130000
    {CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000, CallPurpose::launch},
    {CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000, CallPurpose::launch},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyBatchAsync_v13000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyBatchAsync_ptsz_v13000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy3DBatchAsync_v13000, CallPurpose::copy},
    {CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy3DBatchAsync_ptsz_v13000, CallPurpose::copy},
#endif
};

constexpr TracedCall k_driver[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, CallPurpose::order},
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecord, CallPurpose::order},
    {CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, CallPurpose::order},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, CallPurpose::order},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD16Async, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D8Async, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D16Async, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D32Async, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DAsync_v2, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent, CallPurpose::order},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CallPurpose::launch},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DPeerAsync, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DAsync_v2_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DAsync_v2_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DPeerAsync_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD16Async_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D8Async_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D16Async_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemsetD2D32Async_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz, CallPurpose::order},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz, CallPurpose::order},
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecord_ptsz, CallPurpose::order},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, CallPurpose::launch},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, CallPurpose::launch},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, CallPurpose::launch},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CallPurpose::graph_launch},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, CallPurpose::graph_launch},
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags, CallPurpose::order},
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags_ptsz, CallPurpose::order},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CallPurpose::launch},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, CallPurpose::launch},
#if CUPTI_API_VERSION >= 26
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_ptsz, CallPurpose::copy},
#endif
#if CUPTI_API_VERSION >= 130000
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2_ptsz, CallPurpose::copy},
    {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, CallPurpose::order},
#endif
};

std::vector<CallPurpose> by_id(std::span<const TracedCall> calls) {
  CUpti_CallbackId last = 0;
  for (const TracedCall& call : calls)
    last = std::max(last, call.id);
  std::vector<CallPurpose> all(last + 1, CallPurpose::other);
  for (const TracedCall& call : calls)
    all[call.id] = call.purpose;
  return all;
}

} // namespace

std::span<const TracedCall> runtime_calls() {
  return k_runtime;
}

std::span<const TracedCall> driver_calls() {
  return k_driver;
}

CallPurposes::CallPurposes() : runtime_(by_id(k_runtime)), driver_(by_id(k_driver)) {}

} // namespace ncclprobe::nvidia
