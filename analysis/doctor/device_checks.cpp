// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The GPUs that ranks see: which, whose, how much of them is free, and the CPUs beside them.
#include "analysis/doctor/facts.h"
#include "analysis/doctor/findings.h"
#include "topology/placement.h"

#include <algorithm>
#include <map>
#include <set>

namespace ncclprobe::analysis::doctor {
namespace {

// A CUDA context, NCCL's kernels and buffers; generously.
constexpr std::uint64_t k_needed_bytes = std::uint64_t{2} << 30;

std::string value_of(const model::Survey& survey, std::string_view name) {
  const model::Setting* setting = survey.variable(name);
  return setting == nullptr ? "(not set)" : setting->value;
}

void check_inventory(const Case& one, Findings& into) {
  bool any = false;
  std::map<std::string, std::string> kinds; // by host
  for (const model::Survey& survey : one.surveys) {
    std::map<std::string, int> models;
    for (const model::Gpu& gpu : survey.inventory.gpus) {
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
      into.add_host(survey,
                    {"D03",
                     Severity::warn,
                     "GPUs of one host are not alike",
                     {text},
                     "collectives run at the pace of the slowest; NVLink and P2P need equal kinds",
                     "CUDA_VISIBLE_DEVICES=... with those of one kind",
                     {},
                     {}});
    else
      into.add(survey, {"D03", Severity::ok, text, {}, "", "", {}, {}});
  }
  if (!any)
    into.add({"D03", Severity::info, "no GPU is visible to any rank", {}, "", "", {}, {}});
}

// Whether each rank of a host finds a GPU of its own. Rank r of a host takes the r-th that it sees.
void check_rank_to_gpu(const Case& one, Findings& into) {
  std::map<std::string, std::vector<const model::Survey*>> by_host;
  bool any = false;
  for (const model::Survey& survey : one.surveys) {
    by_host[survey.inventory.boot_id].push_back(&survey);
    any = any || !survey.inventory.gpus.empty();
  }
  if (!any)
    return;
  for (const auto& [host, surveys] : by_host) {
    std::set<std::string> orders;
    std::set<std::string> lists;
    std::vector<std::string> seen;
    std::size_t place = 0;
    bool enough = true;
    std::vector<int> without;
    for (const model::Survey* survey : surveys) {
      orders.insert(value_of(*survey, "CUDA_DEVICE_ORDER"));
      lists.insert(value_of(*survey, "CUDA_VISIBLE_DEVICES"));
      for (int rank : survey->ranks) {
        const auto& gpus = survey->inventory.gpus;
        if (place < gpus.size())
          seen.push_back(fmt::format("rank {}: GPU {} {} {}", rank, place, gpus[place].pci_bus_id,
                                     gpus[place].uuid));
        else
          without.push_back(rank);
        enough = enough && place < gpus.size();
        ++place;
      }
    }
    const model::Survey& first = *surveys.front();
    if (lists.size() > 1) {
      std::vector<std::string> all(lists.begin(), lists.end());
      into.add_host(
          first,
          {"D07",
           Severity::warn,
           "ranks of one host have different CUDA_VISIBLE_DEVICES",
           all,
           "ncclprobe gives rank r the r-th GPU that it sees; with one GPU shown to each rank most "
           "find none, and CUDA IPC between them may fail",
           "show every rank all GPUs of its host, and choose by local rank",
           {},
           {}});
    }
    if (!enough)
      into.add_host(first, {"D07",
                            Severity::fail,
                            "some ranks find no GPU of their own",
                            seen,
                            "NCCL refuses two ranks on one GPU: 'Duplicate GPU detected'",
                            "start one rank a GPU",
                            without,
                            {}});
    else if (lists.size() <= 1)
      into.add_host(first,
                    {"D07", Severity::ok, "every rank has a GPU of its own", seen, "", "", {}, {}});
    std::set<std::string> models;
    for (const model::Gpu& gpu : first.inventory.gpus)
      models.insert(gpu.name);
    if (models.size() > 1 && !orders.contains("PCI_BUS_ID"))
      into.add_host(first, {"D07",
                            Severity::warn,
                            "GPUs are numbered by speed, not as nvidia-smi numbers them",
                            {"CUDA_DEVICE_ORDER is not PCI_BUS_ID, and the GPUs are not alike"},
                            "CUDA_VISIBLE_DEVICES=0 may mean another GPU than nvidia-smi's 0",
                            "export CUDA_DEVICE_ORDER=PCI_BUS_ID",
                            {},
                            {}});
  }
}

void check_sharing(const model::Survey& survey, Findings& into) {
  bool alone = true;
  for (const model::GpuHealth& gpu : survey.health) {
    std::string label = gpu_label(gpu);
    if (gpu.compute_mode == "prohibited") {
      alone = false;
      into.add_host(survey, {"D08",
                             Severity::fail,
                             "a GPU's compute mode is 'prohibited'",
                             {label},
                             "no program can use it",
                             "nvidia-smi -i INDEX -c DEFAULT (administrator)",
                             {},
                             {}});
    } else if (gpu.compute_mode.starts_with("exclusive")) {
      into.add_host(survey, {"D08",
                             Severity::info,
                             "GPUs take one process each (exclusive compute mode)",
                             {label},
                             "a second process on the GPU fails with 'device busy'",
                             "",
                             {},
                             {}});
    }
    if (gpu.mig == true) {
      alone = false;
      into.add_host(
          survey,
          {"D08",
           Severity::warn,
           "MIG is on",
           {label},
           "NCCL before 2.30 cannot use more than one instance of a GPU, and instances have no "
           "P2P",
           "nvidia-smi -i INDEX -mig 0 (administrator, no process on the GPU)",
           {},
           {}});
    }
    if (gpu.mps_clients == true) {
      alone = false;
      into.add_host(survey, {"D08",
                             Severity::warn,
                             "processes share a GPU through MPS",
                             {label},
                             "others' kernels run between ours: times mean little",
                             "",
                             {},
                             {}});
    }
    if (gpu.processes && !gpu.processes->empty()) {
      alone = false;
      std::vector<std::string> seen;
      for (const model::GpuProcess& process : *gpu.processes)
        seen.push_back(fmt::format(
            "{}: pid {} {} {}", label, process.pid, process.name,
            process.used_bytes ? fmt::format("{} MiB", *process.used_bytes >> 20) : std::string()));
      into.add_host(survey,
                    {"D08",
                     Severity::warn,
                     "other processes use the GPUs",
                     seen,
                     "measurements are disturbed, and memory is missing",
                     "nvidia-smi; wait for them, or choose other GPUs with CUDA_VISIBLE_DEVICES",
                     {},
                     {}});
    }
  }
  if (survey.health.empty())
    return;
  bool told = std::any_of(survey.health.begin(), survey.health.end(),
                          [](const model::GpuHealth& gpu) { return gpu.processes.has_value(); });
  if (alone)
    into.add_host(survey, {"D08",
                           told ? Severity::ok : Severity::unknown,
                           told ? "no other process is on the GPUs"
                                : "NVML does not tell which processes are on the GPUs",
                           {},
                           "",
                           "",
                           {},
                           {}});
}

void check_memory(const model::Survey& survey, Findings& into) {
  std::vector<std::string> seen;
  bool short_of = false;
  for (const model::Gpu& gpu : survey.inventory.gpus) {
    if (gpu.free_bytes == 0) // NVML did not tell
      continue;
    seen.push_back(fmt::format("GPU {}: {} of {} MiB free", gpu.index, gpu.free_bytes >> 20,
                               gpu.memory_bytes >> 20));
    short_of = short_of || gpu.free_bytes < k_needed_bytes;
  }
  if (survey.inventory.gpus.empty())
    return;
  if (seen.empty())
    into.add(survey, {"D20",
                      Severity::unknown,
                      "NVML does not tell how much memory is free",
                      {},
                      "",
                      "",
                      {},
                      {}});
  else if (short_of)
    into.add(survey, {"D20",
                      Severity::fail,
                      "a GPU has less free memory than NCCL and CUDA need to start",
                      seen,
                      "out of memory in ncclCommInitRank",
                      "nvidia-smi shows who holds it",
                      {},
                      {}});
  else
    into.add(survey, {"D20", Severity::ok, "GPU memory is free", {}, "", "", {}, {}});
}

// What a communicator takes of each GPU, as the rehearsal saw it.
void check_communicators(const Case& one, Findings& into) {
  for (const Rehearsal& rehearsal : one.rehearsals) {
    if (rehearsal.communicators.empty())
      continue;
    std::vector<std::string> seen;
    std::uint64_t most = 0;
    for (const CommunicatorMemory& memory : rehearsal.communicators) {
      most = std::max(most, memory.bytes);
      seen.push_back(fmt::format("rank {}: {} MiB", memory.rank, memory.bytes >> 20));
    }
    into.add({"D20",
              Severity::info,
              fmt::format("connecting {} ranks with NCCL takes {} MiB of a GPU's memory",
                          rehearsal.ranks, most >> 20),
              seen,
              "so much less is left for data; more comes with the first collective of each kind",
              "",
              {},
              {}});
  }
}

struct Seats {
  const model::Host* host;
  std::vector<topology::RankSeat> seats;
};

// Rank r of a host drives the r-th GPU that it sees.
std::vector<Seats> seats_by_host(const Case& one) {
  std::map<std::string, std::size_t> taken; // GPUs, by host
  std::vector<Seats> all;
  for (const model::Survey& survey : one.surveys) {
    const model::Host& host = survey.inventory;
    Seats here{&host, {}};
    for (int rank : survey.ranks) {
      std::size_t place = taken[host.boot_id]++;
      if (place >= host.gpus.size())
        continue;
      for (const topology::Gpu& gpu : host.topology.gpus)
        if (gpu.bus_id && same_pci(*gpu.bus_id, host.gpus[place].pci_bus_id))
          here.seats.push_back({rank, 0, gpu.index, survey.process.cpus_allowed});
    }
    all.push_back(std::move(here));
  }
  return all;
}

void check_affinity(const Case& one, Findings& into) {
  // Several ranks that may only use one and the same CPU.
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
    into.add(
        {"D24",
         bad ? Severity::warn : Severity::info,
         fmt::format("{} rank(s) share {} CPU(s)", ranks.size(), cpus.size()),
         {fmt::format("{}: CPUs {}", host, model::format_ranks(cpus))},
         "a rank has at least two busy threads (launching, NCCL's proxy): they wait for each other",
         "mpirun --bind-to none, or more CPUs for the job",
         ranks,
         {host}});
  }
  for (const auto& [host, seats] : seats_by_host(one)) {
    std::vector<std::string> away = topology::misplaced(topology::Machine{{host->topology}}, seats);
    if (away.empty())
      continue;
    good = false;
    into.add({"D24",
              Severity::warn,
              "ranks may only run on CPUs that are far from their GPUs",
              away,
              "latency of every launch, and of every copy through the host",
              "ncclprobe topo --placement, or mpirun --bind-to none",
              {},
              {host->hostname}});
  }
  if (good)
    into.add({"D24",
              Severity::ok,
              "every rank has CPUs enough, none far from its GPU as far as that is known",
              {},
              "",
              "",
              {},
              {}});
}

} // namespace

void check_devices(const Case& one, Findings& into) {
  check_inventory(one, into);
  check_rank_to_gpu(one, into);
  for (const model::Survey& survey : one.surveys) {
    check_sharing(survey, into);
    check_memory(survey, into);
  }
  check_communicators(one, into);
  check_affinity(one, into);
}

} // namespace ncclprobe::analysis::doctor
