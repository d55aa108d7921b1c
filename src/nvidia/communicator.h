// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "backend/host_barrier.h"
#include "nvidia/barrier.h"
#include "nvidia/cuda_gpu.h"
#include "nvidia/nccl_library.h"

#include <map>
#include <memory>

namespace ncclprobe::nvidia {

// How many NCCL groups the thread has open. After an error inside a group, the group stays open
// until the backend closes it, and NCCL would only queue later calls.
struct GroupDepth {
  int open = 0;
};

// Shared by the ranks of one communicator in this process. After an error on one rank, none of them
// can end normally, because that would wait for the others.
struct PeerGroup {
  bool broken = false;
  std::unique_ptr<backend::HostBarrier> barrier; // none: ranks on several hosts
};

// One rank of an NCCL communicator.
class NcclCommunicator final : public backend::Communicator {
public:
  struct Identity {
    int rank = 0;
    int size = 1;
  };
  // Takes over `comm`.
  NcclCommunicator(std::shared_ptr<const NcclLibrary> nccl, std::shared_ptr<GroupDepth> depth,
                   std::shared_ptr<PeerGroup> peers, std::shared_ptr<CudaGpu> gpu, ncclComm_t comm,
                   Identity identity);
  // Destroys the communicator, or aborts it after an error: a peer may be gone, and a normal end
  // would wait for it.
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return identity_.rank; }
  int size() const override { return identity_.size; }
  // In place as in NCCL's documentation; an in-place all-to-all does not exist there (unsupported).
  void require_support(model::Collective collective, model::DataType type,
                       model::ReduceOp op) override;
  void enqueue(const backend::CollectiveCall& call, backend::Stream& stream) override;
  void send(backend::Place from, std::uint64_t count, model::DataType type, int peer,
            backend::Stream& stream) override;
  void receive(backend::Place into, std::uint64_t count, model::DataType type, int peer,
               backend::Stream& stream) override;
  void check() override;
  std::unique_ptr<backend::Registration> register_buffer(backend::Buffer& buffer) override;
  backend::HostBarrier* host_barrier() const { return peers_->barrier.get(); }
  // An error occurred elsewhere: the destructor will abort the communicator.
  void give_up() { peers_->broken = true; }

  ncclComm_t handle() const { return comm_; }
  CudaGpu& gpu() const { return *gpu_; }
  BarrierScratch& barrier_scratch() { return barrier_scratch_; }

private:
  // The peers of a rank's blocks: for all ranks one block each, by rank; or only the root, with one
  // block.
  enum class Peers { nobody, root, everyone };

  template <typename Call>
  void watch(Call call);
  // Premultiplied sums belong to a communicator and a type; they are created on first use.
  ncclRedOp_t op_of(model::ReduceOp op, model::DataType type);
  void enqueue_collective(const backend::CollectiveCall& call, backend::Stream& on);
  void all_to_all(const std::byte* from, std::byte* to, const backend::CollectiveCall& call,
                  cudaStream_t stream);
  void gather(const std::byte* from, std::byte* to, const backend::CollectiveCall& call,
              cudaStream_t stream);
  void scatter(const std::byte* from, std::byte* to, const backend::CollectiveCall& call,
               cudaStream_t stream);
  // Blocks of call.count elements go to `receivers` and come from `senders`, in one group.
  void exchange_blocks(const std::byte* from, Peers receivers, std::byte* to, Peers senders,
                       const backend::CollectiveCall& call, cudaStream_t stream);

  std::shared_ptr<const NcclLibrary> nccl_;
  std::shared_ptr<GroupDepth> depth_;
  std::shared_ptr<PeerGroup> peers_;
  std::shared_ptr<CudaGpu> gpu_;
  Identity identity_;
  BarrierScratch barrier_scratch_;
  std::map<model::DataType, ncclRedOp_t> premul_sums_;
  ncclComm_t comm_; // last: after the communicator is owned, nothing can fail
};

} // namespace ncclprobe::nvidia
