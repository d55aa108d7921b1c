// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D07: whether every rank on a host has its own GPU.
#include "analysis/doctor/check_results.h"

#include <algorithm>
#include <map>
#include <set>

namespace ncclprobe::analysis::doctor {
namespace {

std::string value_or_not_set(const model::Survey& survey, std::string_view name) {
  const model::Setting* setting = survey.variable(name);
  return setting == nullptr ? "(not set)" : setting->value;
}

// The identity of a GPU, independent of its number in each rank. Instances of one GPU have
// different UUIDs.
std::string identity_of(const model::CudaDevice& gpu) {
  return gpu.uuid.empty() ? gpu.pci_bus_id : gpu.uuid;
}

std::string line_of(int rank, const model::CudaDevice& gpu, const std::string& number) {
  return fmt::format("rank {}: GPU {} {} {}", rank, number, gpu.pci_bus_id, gpu.uuid);
}

// Rank r on a host takes the r-th GPU that it sees.
struct Dealt {
  std::vector<std::string> seen; // one line per rank that has a GPU
  std::vector<std::string> only; // one line per rank that sees one GPU
  std::vector<int> without;
  std::vector<int> sharing;      // ranks that share their GPU with another rank
  std::set<std::string> visible; // GPUs that any rank sees
  std::set<std::string> lone;    // GPUs that are the only one for some rank
  std::size_t ranks = 0;

  bool good() const { return without.empty() && sharing.empty(); }
  // As with srun --gpus-per-task=1.
  bool one_shown_to_each() const { return only.size() == ranks && lone.size() == ranks; }
};

Dealt deal(const std::vector<const model::Survey*>& surveys) {
  Dealt dealt;
  std::map<std::string, std::vector<int>> ranks_by_gpu;
  for (const model::Survey* survey : surveys) {
    const std::vector<model::CudaDevice>& gpus = survey->inventory.gpus;
    for (const model::CudaDevice& gpu : gpus)
      dealt.visible.insert(identity_of(gpu));
    for (int rank : survey->ranks) {
      std::size_t place = dealt.ranks++;
      if (place < gpus.size()) {
        dealt.seen.push_back(line_of(rank, gpus[place], std::to_string(place)));
        ranks_by_gpu[identity_of(gpus[place])].push_back(rank);
      } else {
        dealt.without.push_back(rank);
      }
      if (gpus.size() == 1) {
        dealt.only.push_back(line_of(rank, gpus.front(), "0 of 1"));
        dealt.lone.insert(identity_of(gpus.front()));
      }
    }
  }
  for (const auto& [gpu, ranks] : ranks_by_gpu)
    if (ranks.size() > 1 && !gpu.empty())
      dealt.sharing.insert(dealt.sharing.end(), ranks.begin(), ranks.end());
  return dealt;
}

constexpr const char* k_show_all =
    "make all GPUs of the host visible to every rank (no --gpus-per-task, no CUDA_VISIBLE_DEVICES "
    "for one rank), and choose by local rank";

CheckResult finding_of(const Dealt& dealt) {
  if (dealt.one_shown_to_each() && !dealt.good())
    return {"D07",
            CheckStatus::warn,
            {"one_gpu_each",
             "every rank sees only one GPU, each a different one: ncclprobe cannot assign them"},
            dealt.only,
            "ncclprobe gives rank r on a host the r-th GPU that it sees: most ranks find none, and "
            "nothing is measured. Programs that use the only visible GPU do run, but CUDA IPC "
            "between them may fail",
            k_show_all,
            dealt.without};
  if (!dealt.sharing.empty())
    return {"D07",
            CheckStatus::fail,
            {"gpu_shared_by_ranks", "ranks on one host share a GPU"},
            dealt.seen,
            "NCCL rejects two ranks on one GPU: 'Duplicate GPU detected'",
            k_show_all,
            dealt.sharing};
  if (dealt.without.empty())
    return {"D07", CheckStatus::ok, {"own_gpu_each", "every rank has its own GPU"}, dealt.seen};
  bool enough = dealt.visible.size() >= dealt.ranks;
  return {"D07",
          CheckStatus::fail,
          {"rank_without_gpu",
           "some ranks have no GPU of their own",
           {{"gpus", dealt.visible.size()}, {"ranks", dealt.ranks}}},
          dealt.seen,
          enough ? "ncclprobe gives rank r on a host the r-th GPU that it sees; there are {gpus} "
                   "GPUs for {ranks} ranks, but not every rank sees all"
                 : "NCCL rejects two ranks on one GPU: 'Duplicate GPU detected'",
          enough ? k_show_all : "start one rank per GPU",
          dealt.without};
}

void check_order(const std::vector<const model::Survey*>& surveys, CheckResults& into) {
  const model::Survey& first = *surveys.front();
  std::set<std::string> models;
  for (const model::CudaDevice& gpu : first.inventory.gpus)
    models.insert(gpu.name);
  bool by_address = std::any_of(surveys.begin(), surveys.end(), [](const model::Survey* survey) {
    return value_or_not_set(*survey, "CUDA_DEVICE_ORDER") == "PCI_BUS_ID";
  });
  if (models.size() > 1 && !by_address)
    into.add_host(first, {"D07",
                          CheckStatus::warn,
                          {"gpus_by_speed", "CUDA numbers the GPUs by speed, unlike nvidia-smi"},
                          {"CUDA_DEVICE_ORDER is not PCI_BUS_ID, and the GPUs differ"},
                          "CUDA_VISIBLE_DEVICES=0 may select another GPU than nvidia-smi's 0",
                          "export CUDA_DEVICE_ORDER=PCI_BUS_ID"});
}

} // namespace

void check_rank_gpus(const Case& one, CheckResults& into) {
  std::map<model::HostInventory::Identity, std::vector<const model::Survey*>> by_host;
  bool any = false;
  for (const model::Survey& survey : one.surveys) {
    by_host[survey.inventory.identity()].push_back(&survey);
    any = any || !survey.inventory.gpus.empty();
  }
  if (!any)
    return;
  for (const auto& [host, surveys] : by_host) {
    const model::Survey& first = *surveys.front();
    const Dealt dealt = deal(surveys);
    std::set<std::string> lists;
    for (const model::Survey* survey : surveys)
      lists.insert(value_or_not_set(*survey, "CUDA_VISIBLE_DEVICES"));
    CheckResult finding = finding_of(dealt);
    if (lists.size() < 2 || finding.status != CheckStatus::ok)
      into.add_host(first, std::move(finding));
    else
      into.add_host(first, {"D07",
                            CheckStatus::warn,
                            {"visible_devices_differ",
                             "ranks on one host have different CUDA_VISIBLE_DEVICES"},
                            {lists.begin(), lists.end()},
                            "ncclprobe gives rank r on a host the r-th GPU that it sees; CUDA IPC "
                            "between ranks may fail",
                            k_show_all});
    check_order(surveys, into);
  }
}

} // namespace ncclprobe::analysis::doctor
