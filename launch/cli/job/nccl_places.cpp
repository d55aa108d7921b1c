// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/nccl_places.h"

#include "base/loader.h"

#include <algorithm>
#include <net/if.h>

namespace ncclprobe::cli {
namespace {

using workload::NcclPlace;

std::vector<std::string> interface_names() {
  std::vector<std::string> names;
  struct if_nameindex* all = ::if_nameindex();
  for (struct if_nameindex* one = all; one != nullptr && one->if_name != nullptr; ++one)
    names.emplace_back(one->if_name);
  if (all != nullptr)
    ::if_freenameindex(all);
  return names;
}

bool is_rdma(const topology::Nic& nic) {
  bool verbs =
      nic.kind.value == topology::NicKind::infiniband || nic.kind.value == topology::NicKind::roce;
  return verbs && nic.up.value_or(true);
}

// Assumes the libraries of the inventory; `--compare-library nccl` loads others.
NcclPlace place_of(const model::HostInventory& host, bool name_it) {
  NcclPlace place;
  if (name_it)
    place.host = host.hostname;
  if (const model::Library* nccl = host.library("nccl"); nccl != nullptr && nccl->problem.empty())
    place.version = workload::parse_nccl_version(nccl->version);
  place.has_rdma = std::ranges::any_of(host.topology.nics, is_rdma);
  return place;
}

void look_here(const Session& session, const World& world,
               const std::vector<model::Setting>& settings, NcclPlace& place) {
  place.interfaces = interface_names();
  std::vector<std::filesystem::path> beside{world.program_folder};
  if (const model::Library* nccl = session.hosts.front().library("nccl"))
    beside.push_back(std::filesystem::path(nccl->path).parent_path());
  workload::Variables all = world.environment_by_name;
  for (const model::Setting& setting : settings)
    all[setting.name] = setting.value;
  auto look_for = [&](const model::Setting& setting) {
    for (const std::string& name : workload::names_to_look_for(setting, all))
      place.looked_for.emplace(name, base::loader_finds(name, all["LD_LIBRARY_PATH"], beside));
  };
  for (const auto& [name, value] : world.environment_by_name)
    look_for({name, value});
  std::ranges::for_each(settings, look_for);
}

} // namespace

std::vector<NcclPlace> nccl_places(const Session& session, const World& world,
                                   const std::vector<model::Setting>& settings) {
  std::vector<NcclPlace> places;
  for (const model::HostInventory& host : session.hosts)
    places.push_back(place_of(host, session.hosts.size() > 1));
  if (!places.empty())
    look_here(session, world, settings, places.front());
  return places;
}

Result<void> check_environment(const Session& session, const World& world,
                               const std::vector<std::string>& overrides) {
  if (session.backend.name != "nvidia")
    return {};
  std::vector<NcclPlace> places = nccl_places(session, world, {});
  std::vector<int> hosts = launch::host_numbers(session.reports);
  for (std::size_t rank = 0; rank < session.reports.size(); ++rank) {
    workload::Variables all;
    for (const model::Setting& setting : session.reports[rank].environment)
      all[setting.name] = setting.value;
    const NcclPlace& place = places.at(hosts[rank]);
    for (const model::Setting& setting : session.reports[rank].environment) {
      workload::Judgement judgement = workload::judge(setting, all, place);
      bool can_override = workload::can_be_overridden(setting.name);
      bool overridden = std::ranges::find(overrides, setting.name) != overrides.end();
      if (judgement.reading != workload::Reading::refused || (can_override && overridden))
        continue;
      return fail(Error{Errc::mismatch,
                        fmt::format("{}{}", rank == 0 ? "" : fmt::format("rank {}: ", rank),
                                    workload::describe(setting, judgement, place)),
                        fmt::format("unset {0}{1}; nothing was started", setting.name,
                                    can_override ? fmt::format(", or use --override {} to measure "
                                                               "with it anyway",
                                                               setting.name)
                                                 : "")});
    }
  }
  return {};
}

} // namespace ncclprobe::cli
