// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "nvidia/communicator.h"
#include "nvidia/cuda_gpu.h"
#include "nvidia/cupti_tracer.h"
#include "nvidia/device.h"
#include "nvidia/nccl_library.h"

#include <memory>

namespace ncclprobe::nvidia {

// NCCL on CUDA streams. One thread drives it and all its GPUs.
class NcclBackend final : public backend::Backend {
public:
  NcclBackend(std::shared_ptr<const NcclLibrary> nccl, NvmlFuture nvml, backend::Options options);

  std::string_view name() const override { return "nvidia"; }
  bool moves_data() const override { return true; }
  std::unique_ptr<backend::Device> open_device(int index) override;
  // Blocks until all ranks have joined. The process of the communicator's rank 0 creates the NCCL
  // id.
  std::vector<std::unique_ptr<backend::Communicator>>
  connect(const std::string& key, const std::vector<int>& ranks,
          std::span<const backend::Member> local, backend::Rendezvous& rendezvous) override;
  // Collective over the parent. Needs 2.18; an older NCCL creates the communicator without a split.
  std::vector<std::unique_ptr<backend::Communicator>>
  split(const std::string& key, const std::vector<int>& ranks,
        std::span<const backend::SplitMember> local, backend::Rendezvous& rendezvous) override;
  std::unique_ptr<backend::Graph> capture(std::span<const std::vector<backend::Stream*>> streams,
                                          const std::function<void()>& enqueue) override;
  // Through the tuner in this process, which NCCL must have loaded
  // (NCCL_TUNER_PLUGIN=STATIC_PLUGIN, since 2.22): algorithm, protocol, channels.
  void apply(const std::vector<model::Setting>& settings) override;
  std::string why_not_applied() const override;
  void group_begin() override;
  void group_end() override;
  std::optional<double> estimate_us(const std::function<void()>& enqueue) override;
  void align(std::span<backend::Communicator* const> local,
             std::span<backend::Stream* const> streams) override;
  double max_over_ranks(std::span<backend::Communicator* const> local, double value) override;
  std::int64_t now_ns() override;
  std::optional<std::uint64_t> memory_used(int index) override;
  std::unique_ptr<backend::Tracer> start_trace(const backend::TraceRequest& request) override;
  // Products that are slow on tensor cores, and the shapes of communicators, if NCCL has loaded the
  // tuner in this process.
  std::vector<std::string> words() const override;
  // NCCL, NVML if present, and cuBLASLt after the first product.
  std::vector<model::Library> libraries() const override;

private:
  struct Made {
    ncclComm_t comm;
    const backend::Member* member;
  };
  std::vector<std::unique_ptr<backend::Communicator>>
  own(const std::vector<Made>& made, int size, std::unique_ptr<backend::HostBarrier> barrier);
  bool on_one_host(const std::vector<int>& ranks) const;
  void close_stale_groups();

  std::shared_ptr<const NcclLibrary> nccl_;
  NvmlFuture nvml_;
  backend::Options options_;
  std::shared_ptr<CurrentGpu> current_ = std::make_shared<CurrentGpu>();
  std::shared_ptr<TraceLink> link_; // if it is traced
  std::shared_ptr<GroupDepth> depth_ = std::make_shared<GroupDepth>();
  std::shared_ptr<ProductSource> products_;
};

} // namespace ncclprobe::nvidia
