// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/barrier.h"

#include "nvidia/communicator.h"
#include "nvidia/cuda_error.h"
#include "nvidia/nccl_group.h"

#include <thread>

namespace ncclprobe::nvidia {
namespace {

constexpr int k_polls_between_checks = 1024; // a poll takes tens of nanoseconds, a check more

void wait_for(NcclCommunicator& member) {
  for (int poll = 1;; ++poll) {
    cudaError_t code = cudaStreamQuery(member.barrier_scratch().stream());
    if (code == cudaSuccess)
      return;
    if (code != cudaErrorNotReady)
      raise_cuda(code, "barrier of all ranks", __FILE__, __LINE__);
    if (poll % k_polls_between_checks != 0)
      continue;
    member.check();
    std::this_thread::yield();
  }
}

// In round k each member receives from the one 2^k before it. `after` processes the received value.
template <typename StreamOf, typename After>
void enqueue_rounds(const NcclLibrary& nccl, std::span<NcclCommunicator* const> local,
                    StreamOf stream_of, After after) {
  int size = local.front()->size();
  for (int distance = 1; distance < size; distance *= 2) {
    NcclGroup group(nccl);
    for (std::size_t i = 0; i < local.size(); ++i) {
      NcclCommunicator& member = *local[i];
      BarrierScratch& own = member.barrier_scratch();
      member.gpu().use();
      int next = (member.rank() + distance) % size;
      int previous = (member.rank() - distance + size) % size;
      NCCLPROBE_NCCL_CALL(nccl,
                          send(own.largest(), 1, ncclFloat64, next, member.handle(), stream_of(i)));
      NCCLPROBE_NCCL_CALL(
          nccl, recv(own.received(), 1, ncclFloat64, previous, member.handle(), stream_of(i)));
    }
    group.end();
    for (NcclCommunicator* member : local)
      after(*member);
  }
}

double all_reduce_max_on_host(backend::HostBarrier& barrier,
                              std::span<NcclCommunicator* const> local, double value) {
  std::vector<int> ranks;
  for (const NcclCommunicator* member : local)
    ranks.push_back(member->rank());
  return barrier.all_reduce_max(ranks, value, [&] {
    for (NcclCommunicator* member : local)
      member->check();
  });
}

} // namespace

BarrierScratch::BarrierScratch(const CudaGpu& gpu) {
  gpu.use();
  stream_ = make_stream(0);
  numbers_.reset(static_cast<double*>(allocate_device_memory(2 * sizeof(double))));
  host_.reset(static_cast<double*>(allocate_pinned_memory(sizeof(double))));
}

double all_reduce_max(const NcclLibrary& nccl, std::span<NcclCommunicator* const> local,
                      double value) {
  if (local.empty())
    return value;
  if (backend::HostBarrier* barrier = local.front()->host_barrier())
    return all_reduce_max_on_host(*barrier, local, value);
  for (NcclCommunicator* member : local) {
    BarrierScratch& own = member->barrier_scratch();
    member->gpu().use();
    *own.host() = value;
    NCCLPROBE_CUDA_CALL(cudaMemcpyAsync(own.largest(), own.host(), sizeof(double),
                                        cudaMemcpyHostToDevice, own.stream()));
  }
  enqueue_rounds(
      nccl, local, [&](std::size_t i) { return local[i]->barrier_scratch().stream(); },
      [](NcclCommunicator& member) {
        BarrierScratch& own = member.barrier_scratch();
        member.gpu().use();
        NCCLPROBE_CUDA_CALL(enqueue_take_larger(own.largest(), own.received(), own.stream()));
      });
  for (NcclCommunicator* member : local) {
    BarrierScratch& own = member->barrier_scratch();
    member->gpu().use();
    NCCLPROBE_CUDA_CALL(cudaMemcpyAsync(own.host(), own.largest(), sizeof(double),
                                        cudaMemcpyDeviceToHost, own.stream()));
  }
  for (NcclCommunicator* member : local)
    wait_for(*member);
  return *local.front()->barrier_scratch().host();
}

void align(const NcclLibrary& nccl, std::span<NcclCommunicator* const> local,
           std::span<const cudaStream_t> streams) {
  if (local.empty())
    return;
  enqueue_rounds(
      nccl, local,
      [&](std::size_t i) {
        return streams[i] != nullptr ? streams[i] : local[i]->barrier_scratch().stream();
      },
      [](NcclCommunicator&) {});
}

} // namespace ncclprobe::nvidia
