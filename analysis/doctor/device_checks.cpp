// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The GPUs that ranks see: kind, other users and free memory. Also the CPUs near them.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "analysis/doctor/gpu_results.h"
#include "base/text_layout.h"
#include "topology/placement.h"

#include <algorithm>
#include <map>

namespace ncclprobe::analysis::doctor {
namespace {

// A generous estimate of a CUDA context, NCCL's kernels and its buffers.
constexpr std::uint64_t k_needed_bytes = std::uint64_t{2} << 30;

void check_inventory(const Case& one, CheckResults& into) {
  bool any = false;
  std::map<std::string, std::string> kinds; // by host
  for (const model::Survey& survey : one.surveys) {
    std::map<std::string, int> models;
    for (const model::CudaDevice& gpu : survey.inventory.gpus) {
      any = true;
      ++models[fmt::format("{}, compute capability {}, {} MiB", gpu.name, gpu.compute_capability,
                           gpu.memory_bytes >> 20)];
    }
    std::string text;
    for (const auto& [name, count] : models)
      text += fmt::format("{}{} x {}", text.empty() ? "" : "; ", count, name);
    if (text.empty())
      continue;
    kinds[survey.inventory.hostname] = text;
    if (models.size() > 1)
      into.add_host(
          survey,
          {"D03",
           CheckStatus::warn,
           {"gpu_models_differ", "the GPUs of a host are different models"},
           {text},
           "collectives run at the speed of the slowest GPU; NVLink and P2P need equal models",
           "CUDA_VISIBLE_DEVICES=... with GPUs of one model"});
    else
      into.add(survey, {"D03", CheckStatus::ok, What("gpus", "{gpus}", {{"gpus", text}})});
  }
  if (!any)
    into.add({"D03", CheckStatus::info, {"no_gpu_visible", "no rank sees a GPU"}});
}

// Processes as evidence, one per line: "pid 71 python 300 MiB".
std::string text_of(const model::GpuProcess& process) {
  return fmt::format("pid {} {} {}", process.pid, process.name,
                     process.used_bytes ? fmt::format("{} MiB", *process.used_bytes >> 20)
                                        : std::string());
}

void check_sharing(const model::Survey& survey, CheckResults& into) {
  GpuResults gpus(survey);
  bool alone = true;
  for (const model::GpuHealth& gpu : survey.health) {
    bool exclusive = gpu.compute_mode.starts_with("exclusive");
    alone = alone && gpu.compute_mode != "prohibited" && gpu.mig != true &&
            gpu.mps_clients != true && (!gpu.processes || gpu.processes->empty());
    if (gpu.compute_mode == "prohibited")
      gpus.bad("D08", CheckStatus::fail,
               {"compute_prohibited", "a GPU's compute mode is 'prohibited'"}, gpu, "",
               "no program can use it", "nvidia-smi -i {gpus} -c DEFAULT (administrator)");
    else if (exclusive)
      gpus.bad("D08", CheckStatus::info,
               {"compute_exclusive", "GPUs accept one process each (exclusive compute mode)"}, gpu,
               "", "a second process on the GPU fails with 'device busy'", "");
    if (gpu.mig == true)
      gpus.bad("D08", CheckStatus::warn, {"mig_on", "MIG is on"}, gpu, "",
               "NCCL before 2.30 can use only one instance of a GPU, and instances have no P2P",
               "nvidia-smi -i {gpus} -mig 0 (administrator, no process on the GPU)");
    if (gpu.mps_clients == true)
      gpus.bad("D08", CheckStatus::warn, {"mps_shared", "processes share a GPU through MPS"}, gpu,
               "", "other processes' kernels run between ours: times are unreliable", "");
    if (gpu.processes)
      for (const model::GpuProcess& process : *gpu.processes)
        gpus.bad("D08", CheckStatus::warn, {"other_processes", "other processes use the GPUs"}, gpu,
                 text_of(process), "they disturb measurements and use GPU memory",
                 "nvidia-smi; wait until they end, or choose other GPUs with CUDA_VISIBLE_DEVICES");
  }
  gpus.finish(into);
  if (survey.health.empty())
    return;
  bool told = std::any_of(survey.health.begin(), survey.health.end(),
                          [](const model::GpuHealth& gpu) { return gpu.processes.has_value(); });
  if (alone)
    into.add_host(survey, {"D08", told ? CheckStatus::ok : CheckStatus::unknown,
                           told ? What("gpus_alone", "no other process uses the GPUs")
                                : What("processes_unknown",
                                       "NVML does not report which processes use the GPUs")});
}

void check_memory(const model::Survey& survey, CheckResults& into) {
  std::vector<std::string> seen;
  bool short_of = false;
  for (const model::CudaDevice& gpu : survey.inventory.gpus) {
    if (gpu.free_bytes == 0) // NVML did not report it
      continue;
    seen.push_back(fmt::format("GPU {}: {} of {} MiB free", gpu.index, gpu.free_bytes >> 20,
                               gpu.memory_bytes >> 20));
    short_of = short_of || gpu.free_bytes < k_needed_bytes;
  }
  if (survey.inventory.gpus.empty())
    return;
  if (seen.empty())
    into.add(survey, {"D20",
                      CheckStatus::unknown,
                      {"memory_unknown", "NVML does not report how much memory is free"}});
  else if (short_of)
    into.add(survey,
             {"D20",
              CheckStatus::fail,
              {"memory_short", "a GPU has less free memory than NCCL and CUDA need to start"},
              seen,
              "out of memory in ncclCommInitRank",
              "nvidia-smi shows which processes use it"});
  else
    into.add(survey, {"D20", CheckStatus::ok, {"memory_free", "GPU memory is free"}});
}

void check_memory_pools(const model::Survey& survey, CheckResults& into) {
  GpuResults gpus(survey);
  for (const model::GpuHealth& gpu : survey.health)
    if (gpu.memory_pools == false)
      gpus.bad("D20", CheckStatus::warn, {"no_memory_pools", "GPUs without memory pools"}, gpu,
               "CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED is 0",
               "cudaMallocAsync fails ('operation not supported'), and everything that uses it",
               "use another allocator (in PyTorch, remove "
               "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync); vGPU profiles without unified "
               "memory have no pools");
  gpus.finish(into);
}

// Memory per GPU of the largest communicator that a trial created.
void check_communicators(const Case& one, CheckResults& into) {
  const SmokeTest* largest = nullptr;
  std::uint64_t most = 0;
  for (const SmokeTest& smoke_test : one.smoke_tests)
    for (const CommunicatorMemory& memory : smoke_test.communicators)
      if (largest == nullptr || smoke_test.ranks > largest->ranks ||
          (smoke_test.ranks == largest->ranks && memory.bytes > most)) {
        largest = &smoke_test;
        most = memory.bytes;
      }
  if (most == 0) // copies need no communicator
    return;
  std::vector<std::string> seen;
  for (const CommunicatorMemory& memory : largest->communicators)
    seen.push_back(fmt::format("rank {}: {} MiB", memory.rank, memory.bytes >> 20));
  into.add({"D20", CheckStatus::info,
            What("communicator_memory",
                 "connecting {ranks} ranks with NCCL takes {mib} MiB of each GPU's memory",
                 {{"ranks", largest->ranks}, {"mib", most >> 20}}),
            seen,
            "this memory is not available for data; the first collective of each kind takes more"});
}

struct HostRanks {
  const model::HostInventory* host;
  std::vector<topology::RankLocation> ranks;
};

// Rank r on a host uses the r-th GPU that it sees.
std::vector<HostRanks> ranks_by_host(const Case& one) {
  std::map<model::HostInventory::Identity, std::size_t> taken; // GPUs, by host
  std::vector<HostRanks> all;
  for (const model::Survey& survey : one.surveys) {
    const model::HostInventory& host = survey.inventory;
    HostRanks here{&host, {}};
    for (int rank : survey.ranks) {
      std::size_t place = taken[host.identity()]++;
      if (place >= host.gpus.size())
        continue;
      for (const topology::Gpu& gpu : host.topology.gpus)
        if (gpu.bus_id && same_pci(*gpu.bus_id, host.gpus[place].pci_bus_id))
          here.ranks.push_back({rank, 0, gpu.index, survey.process.cpus_allowed});
    }
    all.push_back(std::move(here));
  }
  return all;
}

void check_affinity(const Case& one, CheckResults& into) {
  // Several ranks are restricted to the same CPU.
  std::map<std::pair<std::string, std::vector<int>>, std::vector<int>> ranks_by_cpus;
  for (const model::Survey& survey : one.surveys) {
    auto& ranks = ranks_by_cpus[{survey.inventory.hostname, survey.process.cpus_allowed}];
    ranks.insert(ranks.end(), survey.ranks.begin(), survey.ranks.end());
  }
  bool good = true;
  for (const auto& [place, ranks] : ranks_by_cpus) {
    const auto& [host, cpus] = place;
    if (cpus.empty() || cpus.size() >= 2 * ranks.size())
      continue;
    bool bad = cpus.size() < ranks.size();
    good = false;
    into.add({"D24",
              bad ? CheckStatus::warn : CheckStatus::info,
              What("cpus_for_ranks", "{cpus} for {ranks}",
                   {{"cpus", base::count_of(cpus.size(), "CPU", "CPUs")},
                    {"ranks", base::count_of(ranks.size(), "rank", "ranks")}}),
              {fmt::format("{}: CPUs {}", host, model::format_ranks(cpus))},
              "a rank has at least two busy threads (kernel launches, NCCL's proxy): they wait for "
              "each other",
              "mpirun --bind-to none, or request more CPUs for the job",
              ranks,
              {host}});
  }
  for (const auto& [host, ranks] : ranks_by_host(one)) {
    std::vector<std::string> away = topology::misplaced(topology::Machine{{host->topology}}, ranks);
    if (away.empty())
      continue;
    good = false;
    into.add({"D24",
              CheckStatus::warn,
              {"cpus_far", "ranks are restricted to CPUs far from their GPUs"},
              away,
              "every launch, and every copy through the host, takes longer",
              "ncclprobe topo --placement, or mpirun --bind-to none",
              {},
              {host->hostname}});
  }
  if (good)
    into.add(
        {"D24",
         CheckStatus::ok,
         {"cpus_near", "every rank has enough CPUs, and none is known to be far from its GPU"}});
}

} // namespace

void check_devices(const Case& one, CheckResults& into) {
  check_inventory(one, into);
  for (const model::Survey& survey : one.surveys) {
    check_sharing(survey, into);
    check_memory(survey, into);
    check_memory_pools(survey, into);
  }
  check_communicators(one, into);
  check_affinity(one, into);
}

} // namespace ncclprobe::analysis::doctor
