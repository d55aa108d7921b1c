// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D12 for NCCL: whether it uses the best transport that the topology allows.
#include "analysis/doctor/check_results.h"
#include "topology/paths.h"

#include <algorithm>
#include <charconv>

namespace ncclprobe::analysis::doctor {
namespace {

const model::HostInventory* surveyed_host(const Case& one, int rank) {
  for (const model::Survey& survey : one.surveys)
    if (std::find(survey.ranks.begin(), survey.ranks.end(), rank) != survey.ranks.end())
      return &survey.inventory;
  return nullptr;
}

const topology::Gpu* gpu_of(const topology::Host& host, const std::string& number) {
  int index = 0;
  const char* end = number.data() + number.size();
  auto [stop, error] = std::from_chars(number.data(), end, index);
  return error == std::errc{} && stop == end ? host.gpu(index) : nullptr;
}

std::optional<bool> can_access(const topology::Host& host, int from, int to) {
  for (const topology::P2pCapability& pair : host.p2p)
    if (pair.from == from && pair.to == to)
      return pair.can_access.value;
  return std::nullopt;
}

// A better transport that NCCL does not use. None: none is known.
enum class Better {
  none,
  near, // NVLinks or PCIe switches, which NCCL uses unless something forbids it
  far,  // CUDA reports access, but the path leads through the CPU, which NCCL avoids
};

struct Passed {
  Better what = Better::none;
  std::string seen;
};

Passed passed_by(const model::HostInventory& on, const ChosenTransport& chosen) {
  const topology::Host& host = on.topology;
  const topology::Gpu* from = gpu_of(host, chosen.from_gpu);
  const topology::Gpu* to = gpu_of(host, chosen.to_gpu);
  if (from == nullptr || to == nullptr || from == to)
    return {};
  std::optional<bool> access = can_access(host, from->index, to->index);
  if (access == false)
    return {};
  topology::FoundPath found = topology::path_between(host, {topology::DeviceKind::gpu, from->index},
                                                     {topology::DeviceKind::gpu, to->index});
  using enum topology::PathType;
  topology::PathType type = found.path.type;
  bool near = type == nvlink || type == pix || type == pxb;
  if (!near && access != true)
    return {};
  return {near ? Better::near : Better::far,
          fmt::format("rank {} to rank {}: via {}; GPU {} to GPU {}: {}{}", chosen.from_rank,
                      chosen.to_rank, chosen.transport, from->index, to->index, found.path.label(),
                      access == true ? ", and CUDA can access the other GPU's memory" : "")};
}

void judge(const Case& one, const SmokeTest& smoke_test, CheckResults& into) {
  std::size_t direct = 0;
  std::size_t within = 0;
  std::vector<std::string> near;
  std::vector<std::string> far;
  for (const ChosenTransport& chosen : smoke_test.transports) {
    const model::HostInventory* from = surveyed_host(one, chosen.from_rank);
    const model::HostInventory* to = surveyed_host(one, chosen.to_rank);
    if (from == nullptr || to == nullptr || !from->same_host(*to))
      continue;
    ++within;
    if (chosen.transport.starts_with("P2P/")) {
      ++direct;
      continue;
    }
    Passed passed = passed_by(*from, chosen);
    if (passed.what != Better::none)
      (passed.what == Better::near ? near : far).push_back(std::move(passed.seen));
  }
  if (!near.empty()) {
    CheckResult finding{
        "D12",
        CheckStatus::warn,
        {"p2p_unused",
         "NCCL uses host memory or the network although the GPUs can access each other directly"},
        near,
        "lower bandwidth and higher latency",
        "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,P2P,GRAPH gives the reason; ncclprobe p2p "
        "--methods ce,staged compares the transports"};
    finding.symptom = Symptom::detour;
    into.add(std::move(finding));
  }
  if (!far.empty())
    into.add({"D12",
              CheckStatus::info,
              {"p2p_unused_over_cpu",
               "NCCL does not use direct access between GPUs whose path leads through the CPU"},
              far,
              "usually none: NCCL uses direct access only up to a distance (NCCL_P2P_LEVEL)",
              "NCCL_P2P_LEVEL=SYS ncclprobe run, compared with a run without it"});
  if (direct > 0 && direct == within)
    into.add({"D12", CheckStatus::ok,
              What("p2p_used",
                   "NCCL connects the GPUs of a host directly (P2P), {connections} connections",
                   {{"connections", direct}})});
}

} // namespace

void check_transports(const Case& one, CheckResults& into) {
  for (const SmokeTest& smoke_test : one.smoke_tests)
    judge(one, smoke_test, into);
}

} // namespace ncclprobe::analysis::doctor
