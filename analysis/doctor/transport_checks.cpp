// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D12, as far as NCCL goes: whether it uses the links that the topology has between GPUs.
#include "analysis/doctor/findings.h"
#include "topology/paths.h"

#include <algorithm>
#include <charconv>

namespace ncclprobe::analysis::doctor {
namespace {

const model::Host* surveyed_host(const Case& one, int rank) {
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

// What NCCL passes by. None: nothing is known that would be better.
enum class Better {
  none,
  near, // NVLinks or PCIe switches, which NCCL uses unless something forbids it
  far,  // CUDA says that it could, but the path leads through the CPU, which NCCL avoids
};

struct Passed {
  Better what = Better::none;
  std::string seen;
};

Passed passed_by(const model::Host& on, const ChosenTransport& transport) {
  const topology::Host& host = on.topology;
  const topology::Gpu* from = gpu_of(host, transport.from_gpu);
  const topology::Gpu* to = gpu_of(host, transport.to_gpu);
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
          fmt::format("rank {} to rank {}: via {}; GPU {} to GPU {}: {}{}", transport.from_rank,
                      transport.to_rank, transport.way, from->index, to->index, found.path.label(),
                      access == true ? ", and CUDA can reach the other's memory" : "")};
}

void judge(const Case& one, const SmokeTest& smoke_test, Findings& into) {
  std::size_t direct = 0;
  std::size_t within = 0;
  std::vector<std::string> near;
  std::vector<std::string> far;
  for (const ChosenTransport& transport : smoke_test.ways) {
    const model::Host* from = surveyed_host(one, transport.from_rank);
    const model::Host* to = surveyed_host(one, transport.to_rank);
    if (from == nullptr || to == nullptr || from->boot_id != to->boot_id)
      continue;
    ++within;
    if (transport.way.starts_with("P2P/")) {
      ++direct;
      continue;
    }
    Passed passed = passed_by(*from, transport);
    if (passed.what != Better::none)
      (passed.what == Better::near ? near : far).push_back(std::move(passed.seen));
  }
  if (!near.empty()) {
    Finding finding{
        "D12",
        Severity::warn,
        "NCCL goes through host memory or the network where GPUs could reach each other",
        near,
        "bandwidth and latency of the detour instead of those of the link",
        "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,P2P,GRAPH says why; ncclprobe p2p "
        "--methods ce,staged compares the paths",
        {},
        {}};
    finding.symptom = Symptom::detour;
    into.add(std::move(finding));
  }
  if (!far.empty())
    into.add({"D12",
              Severity::info,
              "GPUs that CUDA could join directly, through the CPU, are joined otherwise by NCCL",
              far,
              "none in general: NCCL takes direct paths only up to a distance (NCCL_P2P_LEVEL)",
              "NCCL_P2P_LEVEL=SYS ncclprobe run, compared with a run without it",
              {},
              {}});
  if (direct > 0 && direct == within)
    into.add({"D12",
              Severity::ok,
              fmt::format("NCCL joins the GPUs of a host directly (P2P), {} paths", direct),
              {},
              "",
              "",
              {},
              {}});
}

} // namespace

void check_transports(const Case& one, Findings& into) {
  for (const SmokeTest& smoke_test : one.rehearsals)
    judge(one, smoke_test, into);
}

} // namespace ncclprobe::analysis::doctor
