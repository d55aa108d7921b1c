// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/machine_json.h"

#include "base/document_limits.h"
#include "base/json_enum.h"
#include "base/json_optional.h"
#include "topology/json_lines.h"
#include "topology/read/source_text.h"
#include "topology/validate.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace ncclprobe::topology {

using nlohmann::json;

// The field lists below are the format. A field that is missing keeps its default: unknown.
#define CODEC(linkage, Type, ...)                                                                  \
  linkage void to_json(json& nlohmann_json_j, const Type& nlohmann_json_t){                        \
      NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))} linkage void       \
  from_json(const json& nlohmann_json_j, Type& nlohmann_json_t) {                                  \
    const Type nlohmann_json_default_obj{};                                                        \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM_WITH_DEFAULT, __VA_ARGS__))        \
  }

// linkage of a codec that machine_json.h declares
#define EXPORTED

NCCLPROBE_ENUM_CODEC(Source, "source of a fact")
NCCLPROBE_ENUM_CODEC(RemoteKind, "kind of NVLink's other end")
NCCLPROBE_ENUM_CODEC(NicKind, "kind of network")
NCCLPROBE_ENUM_CODEC(PciKind, "kind of PCI device")
NCCLPROBE_ENUM_CODEC(PciDetail, "detail of a PCI tree")
NCCLPROBE_ENUM_CODEC(PciOrigin, "origin of a PCI device")
NCCLPROBE_ENUM_CODEC(P2pStatus, "P2P status")
NCCLPROBE_ENUM_CODEC(DeviceKind, "kind of device")

template <typename T>
void to_json(json& out, const Fact<T>& fact) {
  if (fact)
    out = {{"value", *fact}, {"source", fact.source}};
  else
    out = nullptr;
}

template <typename T>
void from_json(const json& in, Fact<T>& fact) {
  if (in.is_null()) {
    fact = {};
    return;
  }
  fact = Fact<T>(in.at("value").get<T>(), in.at("source").get<Source>());
}

static void to_json(json& out, const Path& path) {
  out = path.label();
}

static void from_json(const json& in, Path& path) {
  const auto& label = in.get_ref<const std::string&>();
  auto parsed = parse_path_label(label);
  if (!parsed)
    base::raise(base::Errc::invalid_argument, "'{}' is not a path label", label);
  path = *parsed;
}

CODEC(static, NvLink, number, version, active, gb_per_s, remote, remote_bus_id, remote_number)
CODEC(static, Fabric, state, status, cluster_uuid, clique, health)
CODEC(static, PcieLink, generation_now, generation_gpu_max, generation_slot_max, width_now,
      width_gpu_max, width_slot_max)
CODEC(EXPORTED, Gpu, index, bus_id, name, uuid, compute_capability, multiprocessors, memory_bytes,
      ecc_now, ecc_pending, mig_now, mig_pending, persistence, sm_clock_mhz, sm_clock_max_mhz,
      memory_clock_mhz, memory_clock_max_mhz, power_limit_w, power_limit_max_w, pcie, numa_node,
      near_numa_nodes, cpu_affinity, nvlinks, fabric, gpudirect, rank)
CODEC(static, Nic, index, name, bus_id, port, kind, up, gbit_per_s, numa_node, gpudirect, guid,
      latency_us, most_connections)
CODEC(static, PciDevice, bus_id, parent, kind, origin, name, pci_class, vendor, device,
      subsystem_vendor, subsystem_device, gt_per_s, width, gt_per_s_max, width_max, numa_node,
      host_bridge)
CODEC(static, NumaNode, index, cpus, memory_bytes, distances)
CODEC(static, Cpu, architecture, vendor, family, model, name, sockets, cores)
CODEC(static, P2pCapability, from, to, read, write, atomics, nvlink, can_access)
CODEC(static, DeviceRef, kind, index)
CODEC(static, StatedPath, a, b, path, source)
CODEC(EXPORTED, Host, name, id, driver_version, cuda_driver_version, virtual_machine, cpu, numa,
      pci, pci_detail, gpus, nics, p2p, stated_paths)
CODEC(EXPORTED, Machine, hosts)

static constexpr const char* k_version_key = "ncclprobe_topology";
static constexpr int k_version = 1;

std::string write_machine_json(const Machine& machine) {
  nlohmann::ordered_json document;
  document[k_version_key] = k_version;
  document["hosts"] = json(machine).at("hosts");
  // Names from devices and files may hold bytes that are no UTF-8.
  return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

namespace {

// The first element of a list of a host that is not of its type, as a JSON pointer.
template <typename T>
std::optional<std::string> misfit_in(const json& host, const char* list, const std::string& where) {
  if (!host.contains(list))
    return std::nullopt;
  const json& elements = host.at(list);
  if (!elements.is_array())
    return fmt::format("{}/{}", where, list);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    try {
      (void)elements[i].get<T>();
    } catch (const std::exception&) {
      return fmt::format("{}/{}/{}", where, list, i);
    }
  }
  return std::nullopt;
}

// What of a document that could not be read is to blame. The lists hold nearly all of it.
std::string misfit_of(const json& document) {
  if (!document.contains("hosts") || !document.at("hosts").is_array())
    return "/hosts";
  const json& hosts = document.at("hosts");
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    std::string where = fmt::format("/hosts/{}", i);
    if (!hosts[i].is_object())
      return where;
    for (auto found :
         {misfit_in<NumaNode>(hosts[i], "numa", where),
          misfit_in<PciDevice>(hosts[i], "pci", where), misfit_in<Gpu>(hosts[i], "gpus", where),
          misfit_in<Nic>(hosts[i], "nics", where), misfit_in<P2pCapability>(hosts[i], "p2p", where),
          misfit_in<StatedPath>(hosts[i], "stated_paths", where)})
      if (found)
        return *found;
    try {
      (void)hosts[i].get<Host>();
    } catch (const std::exception&) {
      return where;
    }
  }
  return "";
}

} // namespace

base::Result<Machine> read_machine_json(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY(check_text(text, name));
  NCCLPROBE_TRY(base::check_json_limits(text, name));
  json document;
  try {
    document = json::parse(text);
  } catch (const json::parse_error& error) {
    return fail_at(name, line_at(text, error.byte), "{}", error.what());
  } catch (const json::exception& error) { // a number that no double holds
    return fail_at(name, 1, "{}", error.what());
  }
  if (!document.is_object() || !document.contains(k_version_key))
    return fail_at(name, 1, "this JSON is not a topology: it has no \"{}\"", k_version_key);
  if (document.at(k_version_key) != k_version)
    return fail_at(name, json_line_of(text, std::string("/") + k_version_key),
                   "topology format {}; this program reads {}", document.at(k_version_key).dump(),
                   k_version);
  Machine machine;
  try {
    machine = document.get<Machine>();
  } catch (const json::exception& error) {
    return fail_at(name, json_line_of(text, misfit_of(document)), "{}", error.what());
  } catch (const base::Exception& error) {
    return fail_at(name, json_line_of(text, misfit_of(document)), "{}", error.error().text());
  }
  if (auto found = contradiction_in(machine))
    return fail_at(name, json_line_of(text, found->element), "{}", found->text);
  return machine;
}

} // namespace ncclprobe::topology
