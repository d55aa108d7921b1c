// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/nccl_xml.h"

#include "machine/validate.h"

#include "topology/derive.h"
#include "topology/read/cpu_mask.h"
#include "topology/read/xml.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace ncclprobe::topology {

using pugi::xml_node;

namespace {

constexpr int k_most_links = 256;
constexpr std::int64_t k_most_number = 1'000'000;

// "16.0 GT/s PCIe", "8 GT/s"; in a virtual machine Linux reports "" or "Unknown".
std::optional<double> speed_of(const std::optional<std::string>& text) {
  if (!text)
    return std::nullopt;
  double value = std::strtod(text->c_str(), nullptr);
  if (!(value > 0 && value < 10'000))
    return std::nullopt;
  return value;
}

std::string capability_text(std::int64_t sm) {
  return fmt::format("{}.{}", sm / 10, sm % 10);
}

class NcclXmlReader {
public:
  explicit NcclXmlReader(const XmlFile& file) : file_(file) {}

  Result<Machine> read() {
    xml_node system = file_.root();
    if (std::string_view(system.name()) != "system")
      return file_.fail_at(system, "a topology of NCCL begins with <system>, not <{}>",
                           system.name());
    NCCLPROBE_TRY(refuse_rccl(system));
    NCCLPROBE_TRY_ASSIGN(auto version, file_.whole_number(system, "version"));
    if (version.value_or(1) != 1)
      return file_.fail_at(system, "topology version {}; NCCL and this program only know version 1",
                           *version);
    for (xml_node cpu : system.children("cpu"))
      NCCLPROBE_TRY(read_cpu(cpu));
    if (machine_.hosts.empty())
      return file_.fail_at(system, "the topology is empty: <system> has no <cpu>");
    for (HostNotes& notes : notes_)
      finish(machine_.hosts[notes.host], notes);
    NCCLPROBE_TRY(validate(machine_, file_.name()));
    return std::move(machine_);
  }

private:
  // State of a host that only its reading needs.
  struct HostNotes {
    std::size_t host = 0;
    std::map<std::string, xml_node> bus_ids;
    std::map<int, xml_node> gpu_numbers;
    std::map<int, std::pair<xml_node, std::string>> nic_numbers;
    std::vector<Gpu> unnumbered_gpus;
    bool has_cpu = false;
    bool lists_nvlinks = false; // of some GPU
  };
  struct Place {
    HostNotes* notes = nullptr;
    Host* host = nullptr;
    int parent = -1;
    Fact<int> numa;
  };

  // RCCL's format is NCCL's, with AMD's names for GPUs and links.
  Result<void> refuse_rccl(const xml_node& system) const {
    xml_node amd = system.find_node([](const xml_node& node) {
      return std::string_view(node.name()) == "xgmi" || node.attribute("gcn");
    });
    if (!amd)
      return {};
    return file_.fail_at(amd, "this topology comes from RCCL and has AMD GPUs: only machines with "
                              "NVIDIA GPUs can be described");
  }

  template <typename T>
  static Fact<T> said(std::optional<T> value) {
    return Fact<T>(std::move(value), Source::nccl);
  }

  // A number from zero to `most`; nothing for negative ones, which mean "unknown".
  Result<std::optional<int>> count_of(const xml_node& node, const char* attribute,
                                      std::int64_t most = k_most_number) const {
    NCCLPROBE_TRY_ASSIGN(auto value, file_.whole_number(node, attribute));
    if (!value || *value < 0)
      return std::nullopt;
    if (*value > most)
      return file_.fail_at(node, "<{}>: {}=\"{}\" is more than {}", node.name(), attribute, *value,
                           most);
    return static_cast<int>(*value);
  }

  Result<std::optional<std::uint32_t>> id_of(const xml_node& node, const char* attribute) const {
    NCCLPROBE_TRY_ASSIGN(auto value, file_.whole_number(node, attribute));
    if (!value)
      return std::nullopt;
    if (*value < 0 || *value > 0xffffffff)
      return file_.fail_at(node, "<{}>: {}=\"{}\" is not a PCI id", node.name(), attribute, *value);
    return static_cast<std::uint32_t>(*value);
  }

  HostNotes& host_of(const xml_node& cpu) {
    auto hash = XmlFile::text(cpu, "host_hash");
    for (HostNotes& notes : notes_)
      if (machine_.hosts[notes.host].id.value == hash)
        return notes;
    Host host;
    host.id = said(hash);
    host.pci_detail = Fact<PciDetail>(PciDetail::switches, Source::nccl);
    machine_.hosts.push_back(std::move(host));
    notes_.emplace_back();
    notes_.back().host = machine_.hosts.size() - 1;
    return notes_.back();
  }

  template <typename T>
  Result<void> agree(Fact<T>& known, std::optional<T> value, const xml_node& node,
                     const char* attribute) const {
    if (known && value && *known != *value)
      return file_.fail_at(node, "<{}>: {}=\"{}\" contradicts another one of the same host",
                           node.name(), attribute, node.attribute(attribute).value());
    known.fill_from(said(std::move(value)));
    return {};
  }

  Result<void> read_cpu(const xml_node& cpu) {
    HostNotes& notes = host_of(cpu);
    Host& host = machine_.hosts[notes.host];
    bool first = !notes.has_cpu;
    notes.has_cpu = true;
    NCCLPROBE_TRY_ASSIGN(auto numa, count_of(cpu, "numaid"));
    NCCLPROBE_TRY_ASSIGN(auto family, count_of(cpu, "familyid"));
    NCCLPROBE_TRY_ASSIGN(auto model, count_of(cpu, "modelid"));
    NCCLPROBE_TRY(agree(host.cpu.architecture, XmlFile::text(cpu, "arch"), cpu, "arch"));
    NCCLPROBE_TRY(agree(host.cpu.vendor, XmlFile::text(cpu, "vendor"), cpu, "vendor"));
    NCCLPROBE_TRY(agree(host.cpu.family, family, cpu, "familyid"));
    NCCLPROBE_TRY(agree(host.cpu.model, model, cpu, "modelid"));
    if (numa) {
      if (host.numa_node(*numa))
        return file_.fail_at(cpu, "a second <cpu> with numaid=\"{}\"", *numa);
      NumaNode node;
      node.index = *numa;
      if (auto affinity = XmlFile::text(cpu, "affinity")) {
        auto cpus = parse_cpu_mask(*affinity);
        if (!cpus)
          return file_.fail_at(cpu, "<cpu>: affinity=\"{}\" is not a mask of CPUs", *affinity);
        node.cpus = said(cpus);
      }
      host.numa.push_back(std::move(node));
    }
    Place place{&notes, &host, -1, said(numa)};
    for (xml_node child : cpu.children()) {
      std::string_view kind = child.name();
      if (kind == "pci")
        NCCLPROBE_TRY(read_pci(child, place));
      if (kind == "nic") {
        // NCCL attaches devices outside PCI to the first CPU, which says nothing about their place.
        Place nowhere = place;
        if (first)
          nowhere.numa = {};
        NCCLPROBE_TRY(read_nic(child, nowhere, std::nullopt));
      }
    }
    return {};
  }

  static bool is_stand_in(const PciDevice& device) {
    return device.kind == PciKind::bridge &&
           (device.bus_id.starts_with("ffff:ff:") || device.vendor.value == 0xffffU);
  }

  Result<std::string> bus_id_of(const xml_node& pci, Place& place) const {
    auto written = XmlFile::text(pci, "busid");
    if (!written)
      return file_.fail_at(pci, "<pci> without a busid");
    auto bus_id = normal_bus_id(*written);
    if (!bus_id)
      return file_.fail_at(pci, "<pci>: busid=\"{}\" is not a PCI address like 0000:1b:00.0",
                           *written);
    auto [before, added] = place.notes->bus_ids.emplace(*bus_id, pci);
    if (!added)
      return file_.fail_at(pci, "a second <pci> with busid=\"{}\"; the first is on line {}",
                           *bus_id, file_.line_of(before->second));
    return *bus_id;
  }

  Result<void> read_pci(const xml_node& pci, Place place) {
    PciDevice device;
    NCCLPROBE_TRY_ASSIGN(device.bus_id, bus_id_of(pci, place));
    device.parent = place.parent;
    device.numa_node = place.numa;
    NCCLPROBE_TRY_ASSIGN(auto pci_class, id_of(pci, "class"));
    NCCLPROBE_TRY_ASSIGN(auto vendor, id_of(pci, "vendor"));
    NCCLPROBE_TRY_ASSIGN(auto id, id_of(pci, "device"));
    NCCLPROBE_TRY_ASSIGN(auto subsystem_vendor, id_of(pci, "subsystem_vendor"));
    NCCLPROBE_TRY_ASSIGN(auto subsystem_device, id_of(pci, "subsystem_device"));
    NCCLPROBE_TRY_ASSIGN(auto width, count_of(pci, "link_width", 64));
    // NCCL's own default for a GPU is "0x03".
    if (pci_class && *pci_class <= 0xff)
      *pci_class <<= 16;
    device.pci_class = said(pci_class);
    device.vendor = said(vendor);
    device.device = said(id);
    device.subsystem_vendor = said(subsystem_vendor);
    device.subsystem_device = said(subsystem_device);
    device.gt_per_s = said(speed_of(XmlFile::text(pci, "link_speed")));
    if (width.value_or(0) > 0)
      device.width = said(width);
    device.kind = kind_of(pci, pci_class);
    if (is_stand_in(device))
      device.origin = PciOrigin::stand_in;
    Host& host = *place.host;
    place.parent = static_cast<int>(host.pci.size());
    host.pci.push_back(device);
    NCCLPROBE_TRY(check_gpus_below(pci));
    if (device.kind == PciKind::gpu)
      NCCLPROBE_TRY(read_gpu(pci.child("gpu"), pci, device, place));
    for (xml_node child : pci.children()) {
      std::string_view kind = child.name();
      if (kind == "pci")
        NCCLPROBE_TRY(read_pci(child, place));
      if (kind == "nic")
        NCCLPROBE_TRY(read_nic(child, place, device.bus_id));
    }
    return {};
  }

  // Ranks that share a GPU have a <gpu> each with one number: it is read once. Parts of a GPU
  // (MLOPart) have different numbers and one bus id.
  Result<void> check_gpus_below(const xml_node& pci) const {
    xml_node first = pci.child("gpu");
    for (xml_node other = first.next_sibling("gpu"); other; other = other.next_sibling("gpu"))
      if (XmlFile::text(other, "dev") != XmlFile::text(first, "dev"))
        return file_.fail_at(
            other,
            "a second <gpu> below one <pci>, the first is on line {}: parts of one "
            "GPU cannot be described",
            file_.line_of(first));
    return {};
  }

  static PciKind kind_of(const xml_node& pci, std::optional<std::uint32_t> pci_class) {
    if (pci.child("gpu"))
      return PciKind::gpu;
    if (pci.child("nic"))
      return PciKind::nic;
    if (!pci_class)
      return pci.child("pci") ? PciKind::bridge : PciKind::other;
    if (*pci_class >> 16 == 0x03)
      return PciKind::gpu;
    if (*pci_class >> 16 == 0x02)
      return PciKind::nic;
    return kind_of_pci_class(*pci_class);
  }

  // `node` is empty in files that leave the discovery of GPUs to NCCL.
  Result<void> read_gpu(const xml_node& node, const xml_node& pci, const PciDevice& device,
                        Place& place) {
    Gpu gpu;
    gpu.bus_id = Fact<std::string>(device.bus_id, Source::nccl);
    gpu.numa_node = place.numa;
    NCCLPROBE_TRY_ASSIGN(auto number, count_of(node, "dev"));
    NCCLPROBE_TRY_ASSIGN(auto sm, count_of(node, "sm", 9999));
    NCCLPROBE_TRY_ASSIGN(auto rank, count_of(node, "rank"));
    NCCLPROBE_TRY_ASSIGN(auto gpudirect, count_of(node, "gdr"));
    if (sm)
      gpu.compute_capability = Fact<std::string>(capability_text(*sm), Source::nccl);
    gpu.rank = said(rank);
    if (gpudirect)
      gpu.gpudirect = Fact<bool>(*gpudirect != 0, Source::nccl);
    NCCLPROBE_TRY_ASSIGN(gpu.nvlinks, read_links(node));
    place.notes->lists_nvlinks = place.notes->lists_nvlinks || gpu.nvlinks;
    if (!number) {
      place.notes->unnumbered_gpus.push_back(std::move(gpu));
      return {};
    }
    gpu.index = *number;
    auto [before, added] = place.notes->gpu_numbers.emplace(*number, pci);
    if (!added)
      return file_.fail_at(node, "a second <gpu> with dev=\"{}\"; the first is below line {}",
                           *number, file_.line_of(before->second));
    place.host->gpus.push_back(std::move(gpu));
    return {};
  }

  // If two GPUs count the links between them differently, the file is not wrong: each counts those
  // that are up at its end. A machine with a bad link looks like this; the findings report it.
  Result<Fact<std::vector<NvLink>>> read_links(const xml_node& gpu) const {
    std::vector<NvLink> links;
    for (xml_node node : gpu.children("nvlink")) {
      NCCLPROBE_TRY_ASSIGN(auto count, count_of(node, "count", k_most_links));
      NCCLPROBE_TRY_ASSIGN(auto target_class, id_of(node, "tclass"));
      if (count && *count + links.size() > k_most_links)
        return file_.fail_at(node, "a GPU with more than {} NVLinks", k_most_links);
      NvLink link;
      link.active = Fact<bool>(true, Source::nccl);
      if (target_class == 0x068000U)
        link.remote = Fact<RemoteKind>(RemoteKind::nvswitch, Source::nccl);
      else if (target_class == 0x068001U)
        link.remote = Fact<RemoteKind>(RemoteKind::cpu, Source::nccl);
      else if (target_class && (*target_class >> 16 == 0x03 || *target_class == 0x03))
        link.remote = Fact<RemoteKind>(RemoteKind::gpu, Source::nccl);
      if (auto target = XmlFile::text(node, "target"); target && !is_hidden_target(*target)) {
        auto bus_id = normal_bus_id(*target);
        if (!bus_id)
          return file_.fail_at(node, "<nvlink>: target=\"{}\" is not a PCI address", *target);
        link.remote_bus_id = said(bus_id);
      }
      links.insert(links.end(), static_cast<std::size_t>(count.value_or(1)), link);
    }
    if (links.empty())
      return Fact<std::vector<NvLink>>();
    return Fact<std::vector<NvLink>>(std::move(links), Source::nccl);
  }

  // The driver's data about an NVSwitch that a virtual machine cannot see.
  static bool is_hidden_target(std::string_view target) { return target.starts_with("fffffff:"); }

  Result<void> read_nic(const xml_node& node, const Place& place,
                        const std::optional<std::string>& bus_id) {
    for (xml_node net : node.children("net")) {
      NCCLPROBE_TRY_ASSIGN(auto number, count_of(net, "dev"));
      if (!number) // part of a merged one: NCCL does not use it either
        continue;
      Nic nic;
      nic.index = *number;
      nic.name = net.attribute("name").value();
      auto [before, added] = place.notes->nic_numbers.emplace(*number, std::pair(net, nic.name));
      if (!added && before->second.second == nic.name) // the same one for another kind of transfer
        continue;
      if (!added)
        return file_.fail_at(net, "a second <net> with dev=\"{}\"; the first is on line {}",
                             *number, file_.line_of(before->second.first));
      nic.bus_id = said(bus_id);
      nic.numa_node = place.numa;
      NCCLPROBE_TRY_ASSIGN(auto mbit_per_s, count_of(net, "speed", std::int64_t{1} << 30));
      NCCLPROBE_TRY_ASSIGN(auto port, count_of(net, "port"));
      NCCLPROBE_TRY_ASSIGN(auto gpudirect, count_of(net, "gdr"));
      NCCLPROBE_TRY_ASSIGN(auto connections, count_of(net, "maxconn", std::int64_t{1} << 30));
      NCCLPROBE_TRY_ASSIGN(auto latency, file_.number(net, "latency"));
      if (mbit_per_s.value_or(0) > 0)
        nic.gbit_per_s = Fact<double>(*mbit_per_s / 1000.0, Source::nccl);
      nic.port = said(port);
      if (gpudirect)
        nic.gpudirect = Fact<bool>(*gpudirect != 0, Source::nccl);
      nic.guid = said(XmlFile::text(net, "guid"));
      nic.most_connections = said(connections);
      nic.latency_us = said(latency);
      place.host->nics.push_back(std::move(nic));
    }
    return {};
  }

  static void finish(Host& host, HostNotes& notes) {
    for (Gpu& gpu : notes.unnumbered_gpus)
      gpu.index = -1;
    // A GPU without listed links has none only if NCCL looked: its dumps contain the host's hash
    // since 2.21, and a file that lists the links of one GPU lists those of all. Files written by
    // hand omit links, because NCCL looks for them itself.
    if (host.id || notes.lists_nvlinks)
      for (Gpu& gpu : host.gpus)
        if (!gpu.nvlinks && gpu.rank)
          gpu.nvlinks = Fact<std::vector<NvLink>>(std::vector<NvLink>{}, Source::nccl);
    host.gpus.insert(host.gpus.end(), notes.unnumbered_gpus.begin(), notes.unnumbered_gpus.end());
    number_gpus(host);
    add_unnamed_nics(host);
    add_absent_nvlinks(host);
    for (Nic& nic : host.nics)
      nic.kind.fill_from(nic_kind(host, nic));
    std::ranges::sort(host.numa, {}, &NumaNode::index);
  }

  const XmlFile& file_;
  Machine machine_;
  std::vector<HostNotes> notes_;
};

} // namespace

Result<Machine> read_nccl_xml(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY_ASSIGN(XmlFile file, XmlFile::parse(text, name));
  return NcclXmlReader(file).read();
}

} // namespace ncclprobe::topology
