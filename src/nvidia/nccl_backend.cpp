// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/nccl_backend.h"

#include "plugin/tuner/chosen.h"

#include "base/clock.h"
#include "base/log.h"
#include "nvidia/cuda_error.h"
#include "nvidia/graph.h"
#include "nvidia/nccl_group.h"
#include "nvidia/stream.h"

#include <algorithm>
#include <cstring>

namespace ncclprobe::nvidia {
namespace {

ncclUniqueId share_id(const NcclLibrary& nccl, const std::string& key,
                      const std::vector<int>& ranks, std::span<const backend::Member> local,
                      backend::Rendezvous& rendezvous) {
  ncclUniqueId id{};
  std::map<int, std::string> own;
  for (const backend::Member& member : local) {
    std::string& bytes = own[member.global_rank];
    if (member.rank != 0)
      continue;
    NCCLPROBE_NCCL_CALL(nccl, get_unique_id(&id));
    bytes.assign(reinterpret_cast<const char*>(&id), sizeof id);
  }
  std::vector<std::string> all = rendezvous.exchange(key, ranks, own);
  if (all.empty() || all.front().size() != sizeof id)
    raise(Errc::protocol, "rank 0 of '{}' sent {} bytes instead of an NCCL id of {}", key,
          all.empty() ? 0 : all.front().size(), sizeof id);
  std::memcpy(&id, all.front().data(), sizeof id);
  return id;
}

std::vector<NcclCommunicator*> nccl_members(std::span<backend::Communicator* const> local) {
  std::vector<NcclCommunicator*> members;
  for (backend::Communicator* member : local)
    members.push_back(static_cast<NcclCommunicator*>(member));
  return members;
}

} // namespace

NcclBackend::NcclBackend(std::shared_ptr<const NcclLibrary> nccl, NvmlFuture nvml,
                         backend::Options options)
    : nccl_(std::move(nccl)), nvml_(std::move(nvml)), options_(std::move(options)),
      products_(std::make_shared<ProductSource>(options_)) {}

std::vector<std::string> NcclBackend::words() const {
  std::vector<std::string> all;
  for (const std::string& remark : products_->remarks())
    all.push_back("ncclprobe: " + remark);
  for (const std::string& line : plugin::communicator_lines())
    all.push_back("ncclprobe: " + line);
  return all;
}

std::vector<model::Library> NcclBackend::libraries() const {
  std::vector<model::Library> all{{"nccl", nccl_->version, nccl_->library.path(), ""}};
  if (const auto& nvml = nvml_.get())
    all.push_back({"nvml", nvml->version(), nvml->path(), ""});
  if (const CublasLtLibrary* products = products_->opened())
    all.push_back({"cublaslt", products->version(), products->path(), ""});
  return all;
}

std::unique_ptr<backend::Device> NcclBackend::open_device(int index) {
  auto gpu = std::make_shared<CudaGpu>(index, current_);
  if (link_)
    link_->clocks.add(gpu);
  return std::make_unique<GpuDevice>(std::move(gpu), nccl_, nvml_, products_);
}

std::unique_ptr<backend::Tracer> NcclBackend::start_trace(const backend::TraceRequest& request) {
  link_ = std::make_shared<TraceLink>();
  return start_tracer(options_, request, link_);
}

std::vector<std::unique_ptr<backend::Communicator>>
NcclBackend::connect(const std::string& key, const std::vector<int>& ranks,
                     std::span<const backend::Member> local, backend::Rendezvous& rendezvous) {
  if (local.empty())
    return {};
  close_stale_groups();
  ncclUniqueId id = share_id(*nccl_, key, ranks, local, rendezvous);
  std::unique_ptr<backend::HostBarrier> barrier;
  if (on_one_host(ranks))
    barrier = backend::share_barrier(key, ranks, local, rendezvous);
  auto size = static_cast<int>(ranks.size());
  std::vector<ncclComm_t> comms(local.size(), nullptr);
  // If a call fails, objects that NCCL has created are left to the end of the process, which is
  // near.
  NcclGroup group(*nccl_);
  for (std::size_t i = 0; i < local.size(); ++i) {
    static_cast<GpuDevice*>(local[i].device)->gpu()->use();
    NCCLPROBE_NCCL_CALL(*nccl_, comm_init_rank(&comms[i], size, id, local[i].rank));
  }
  group.end();
  current_->forget();

  std::vector<Made> made;
  for (std::size_t i = 0; i < local.size(); ++i)
    made.push_back({comms[i], &local[i]});
  return own(made, size, std::move(barrier));
}

std::vector<std::unique_ptr<backend::Communicator>>
NcclBackend::split(const std::string& key, const std::vector<int>& ranks,
                   std::span<const backend::SplitMember> local, backend::Rendezvous& rendezvous) {
  if (nccl_->comm_split == nullptr) {
    spdlog::warn("NCCL {} cannot split a communicator (this needs 2.18): {} is created separately",
                 nccl_->version, key);
    return Backend::split(key, ranks, local, rendezvous);
  }
  close_stale_groups();
  constexpr int k_inside = 0;
  constexpr int k_outside = -1; // NCCL_SPLIT_NOCOLOR
  std::vector<ncclComm_t> comms(local.size(), nullptr);
  // As in connect(), objects of a failed call are left to the end of the process.
  NcclGroup group(*nccl_);
  for (std::size_t i = 0; i < local.size(); ++i) {
    const backend::Member& member = local[i].member;
    auto* parent = static_cast<NcclCommunicator*>(local[i].parent);
    parent->gpu().use();
    NCCLPROBE_NCCL_CALL(*nccl_, comm_split(parent->handle(), member.rank < 0 ? k_outside : k_inside,
                                           std::max(member.rank, 0), &comms[i], nullptr));
  }
  group.end();
  current_->forget();
  std::vector<Made> made;
  for (std::size_t i = 0; i < local.size(); ++i)
    if (local[i].member.rank >= 0)
      made.push_back({comms[i], &local[i].member});
  return own(made, static_cast<int>(ranks.size()), nullptr);
}

bool NcclBackend::on_one_host(const std::vector<int>& ranks) const {
  auto host_of = [&](int rank) { return options_.host_of_rank.at(rank); };
  return std::ranges::all_of(ranks,
                             [&](int rank) { return host_of(rank) == host_of(ranks.front()); });
}

std::vector<std::unique_ptr<backend::Communicator>>
NcclBackend::own(const std::vector<Made>& made, int size,
                 std::unique_ptr<backend::HostBarrier> barrier) {
  auto peers = std::make_shared<PeerGroup>();
  peers->barrier = std::move(barrier);
  std::vector<std::unique_ptr<backend::Communicator>> members;
  for (const Made& one : made) {
    const auto& gpu = static_cast<GpuDevice*>(one.member->device)->gpu();
    gpu->note_communicator();
    members.push_back(std::make_unique<NcclCommunicator>(
        nccl_, depth_, peers, gpu, one.comm, NcclCommunicator::Identity{one.member->rank, size}));
  }
  return members;
}

std::unique_ptr<backend::Graph>
NcclBackend::capture(std::span<const std::vector<backend::Stream*>> streams,
                     const std::function<void()>& enqueue) {
  struct ToldTracer { // also the end of a failing group
    explicit ToldTracer(const TraceLink* link) : link_(link) {
      if (link_ != nullptr && link_->capture_begins)
        link_->capture_begins();
    }
    ~ToldTracer() {
      if (link_ != nullptr && link_->capture_ends)
        link_->capture_ends();
    }
    const TraceLink* link_;
  } told(link_.get());
  return std::make_unique<GpuGraph>(streams, enqueue);
}

std::optional<double> NcclBackend::estimate_us(const std::function<void()>& enqueue) {
  if (nccl_->group_simulate_end == nullptr)
    return std::nullopt;
  NcclGroup group(*nccl_);
  enqueue();
  return group.end_with_estimate_us();
}

void NcclBackend::apply(const std::vector<model::Setting>& settings) {
  const plugin::CellChoice choice = plugin::choice_of(settings);
  if (!settings.empty() && plugin::tuner_interface() == 0)
    raise(Errc::unsupported,
          "NCCL {} has not loaded the tuner of the worker, so {} cannot change within a process "
          "(this needs NCCL 2.22, and NCCL_TUNER_PLUGIN=STATIC_PLUGIN)",
          nccl_->version, settings.front().name);
  plugin::choose(choice);
}

std::string NcclBackend::why_not_applied() const {
  return plugin::why_not_applied();
}

void NcclBackend::group_begin() {
  NCCLPROBE_NCCL_CALL(*nccl_, group_start());
  ++depth_->open;
}

void NcclBackend::group_end() {
  if (depth_->open == 0)
    raise(Errc::invalid_argument, "group_end without group_begin");
  --depth_->open;
  NCCLPROBE_NCCL_CALL(*nccl_, group_end());
}

// Closes a group that an exception left open in a skipped cell. Barriers and new communicators are
// never part of a group, so an open group is such a remainder.
void NcclBackend::close_stale_groups() {
  while (depth_->open > 0) {
    --depth_->open;
    (void)nccl_->group_end();
  }
}

void NcclBackend::align(std::span<backend::Communicator* const> local,
                        std::span<backend::Stream* const> streams) {
  std::vector<cudaStream_t> handles;
  for (backend::Stream* stream : streams)
    handles.push_back(stream == nullptr ? nullptr : static_cast<GpuStream*>(stream)->handle());
  nvidia::align(*nccl_, nccl_members(local), handles);
}

double NcclBackend::max_over_ranks(std::span<backend::Communicator* const> local, double value) {
  close_stale_groups();
  std::vector<NcclCommunicator*> members = nccl_members(local);
  try {
    return all_reduce_max(*nccl_, members, value);
  } catch (...) {
    for (NcclCommunicator* member : members)
      member->give_up();
    throw;
  }
}

std::int64_t NcclBackend::now_ns() {
  return base::monotonic_ns();
}

std::optional<std::uint64_t> NcclBackend::memory_used(int index) {
  const auto& nvml = nvml_.get();
  auto condition = nvml ? nvml->condition(pci_bus_id(index)) : std::nullopt;
  return condition ? condition->memory_used_bytes : std::nullopt;
}

} // namespace ncclprobe::nvidia
