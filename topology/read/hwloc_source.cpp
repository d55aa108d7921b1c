// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/hwloc_source.h"

#include "machine/validate.h"

#include "knowledge/gpu_models.h"
#include "topology/derive.h"
#include "topology/read/xml.h"

#include <hwloc.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <numeric>

namespace ncclprobe::topology {

namespace {

constexpr unsigned short k_nvidia_vendor = 0x10de;
constexpr int k_most_cpus = 8192;

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<struct ::hwloc_topology, Destroy>;

// A topology that is not loaded yet. It keeps PCI devices, and bridges above them.
Topology new_topology() {
  // hwloc's plugins would load the libraries before a topology can disable them.
  ::setenv("HWLOC_PLUGINS_BLACKLIST",
           "hwloc_cuda.so,hwloc_nvml.so,hwloc_opencl.so,hwloc_gl.so,hwloc_rsmi.so,"
           "hwloc_levelzero.so",
           0);
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    return nullptr;
  Topology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  for (const char* component : {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"})
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  return topology;
}

template <typename T>
Fact<T> said(T value) {
  return Fact<T>(std::move(value), Source::hwloc);
}

Fact<std::string> info(hwloc_obj_t object, const char* key) {
  const char* value = object ? hwloc_obj_get_info_by_name(object, key) : nullptr;
  return value && *value ? said<std::string>(value) : Fact<std::string>();
}

Fact<int> number_info(hwloc_obj_t object, const char* key) {
  Fact<std::string> text = info(object, key);
  int number = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc())
    return {};
  return said(number);
}

std::vector<int> members(hwloc_const_bitmap_t set) {
  std::vector<int> numbers;
  if (!set || hwloc_bitmap_weight(set) < 0) // infinite: says nothing
    return numbers;
  for (int i = hwloc_bitmap_first(set); i >= 0 && i < k_most_cpus; i = hwloc_bitmap_next(set, i))
    numbers.push_back(i);
  return numbers;
}

std::string bus_id_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func & 7U);
}

class Translation {
public:
  explicit Translation(hwloc_topology_t topology) : topology_(topology) {}

  Host host() {
    hwloc_obj_t root = hwloc_get_root_obj(topology_);
    host_.name = info(root, "HostName");
    host_.cpu.architecture = info(root, "Architecture");
    hwloc_obj_t package = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, nullptr);
    host_.cpu.vendor = info(package, "CPUVendor");
    host_.cpu.family = number_info(package, "CPUFamilyNumber");
    host_.cpu.model = number_info(package, "CPUModelNumber");
    host_.cpu.name = info(package, "CPUModel");
    if (int sockets = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_PACKAGE); sockets > 0)
      host_.cpu.sockets = said(sockets);
    cores();
    host_.virtual_machine = virtual_machine(root);
    host_.pci_detail = said(PciDetail::ports);
    numa_nodes();
    for (hwloc_obj_t object = nullptr;
         (object = hwloc_get_next_bridge(topology_, object)) != nullptr;)
      if (object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST)
        below_host_bridge(object);
    nvlinks();
    add_absent_nvlinks(host_);
    number_gpus(host_);
    for (std::size_t i = 0; i < host_.nics.size(); ++i)
      host_.nics[i].index = static_cast<int>(i);
    add_unnamed_nics(host_);
    for (Nic& nic : host_.nics)
      nic.kind.fill_from(nic_kind(host_, nic));
    return std::move(host_);
  }

private:
  // From the vendor's name. Otherwise unknown: hypervisors can hide.
  static Fact<bool> virtual_machine(hwloc_obj_t root) {
    for (const char* key : {"DMISysVendor", "DMIProductName", "DMIBIOSVendor"})
      for (const char* name : {"QEMU", "KVM", "VMware", "Xen", "Virtual Machine", "HVM domU",
                               "Google Compute Engine", "VirtualBox"})
        if (info(root, key).value_or("").find(name) != std::string::npos)
          return Fact<bool>(true, Source::derived);
    return {};
  }

  void cores() {
    std::vector<std::vector<int>> found;
    for (hwloc_obj_t core = nullptr;
         (core = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_CORE, core)) != nullptr;)
      found.push_back(members(core->cpuset));
    std::erase_if(found, [](const std::vector<int>& cpus) { return cpus.empty(); });
    std::ranges::sort(found);
    if (!found.empty())
      host_.cpu.cores = said(std::move(found));
  }

  void numa_nodes() {
    for (hwloc_obj_t object = nullptr;
         (object = hwloc_get_next_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, object)) != nullptr;) {
      if (object->os_index >= static_cast<unsigned>(k_most_cpus))
        continue;
      NumaNode node;
      node.index = static_cast<int>(object->os_index);
      node.cpus = said(members(object->cpuset));
      if (object->attr->numanode.local_memory > 0)
        node.memory_bytes = said<std::uint64_t>(object->attr->numanode.local_memory);
      host_.numa.push_back(std::move(node));
    }
    std::ranges::sort(host_.numa, {}, &NumaNode::index);
  }

  void below_host_bridge(hwloc_obj_t bridge) {
    const auto& down = bridge->attr->bridge.downstream.pci;
    root_ = said(fmt::format("{:04x}:{:02x}", down.domain, down.secondary_bus));
    numa_ = {};
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology_, bridge);
    if (near && near->nodeset && hwloc_bitmap_weight(near->nodeset) == 1)
      numa_ = said(hwloc_bitmap_first(near->nodeset));
    children(bridge, -1);
  }

  void children(hwloc_obj_t object, int parent) {
    for (hwloc_obj_t child = object->io_first_child; child; child = child->next_sibling) {
      if (child->type == HWLOC_OBJ_BRIDGE &&
          child->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI)
        bridge(child, parent);
      else if (child->type == HWLOC_OBJ_PCI_DEVICE)
        device(child, parent);
    }
  }

  PciDevice described(hwloc_obj_t object, const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci,
                      int parent) const {
    PciDevice device;
    device.bus_id = bus_id_of(pci);
    device.parent = parent;
    // hwloc leaves out the last byte, the programming interface.
    device.pci_class = said<std::uint32_t>(std::uint32_t{pci.class_id} << 8);
    device.vendor = said<std::uint32_t>(pci.vendor_id);
    device.device = said<std::uint32_t>(pci.device_id);
    device.subsystem_vendor = said<std::uint32_t>(pci.subvendor_id);
    device.subsystem_device = said<std::uint32_t>(pci.subdevice_id);
    device.name = info(object, "PCIDevice");
    device.numa_node = numa_;
    device.host_bridge = root_;
    return device;
  }

  void bridge(hwloc_obj_t object, int parent) {
    PciDevice device = described(object, object->attr->bridge.upstream.pci, parent);
    device.kind = PciKind::bridge;
    std::size_t before = host_.pci.size();
    host_.pci.push_back(std::move(device));
    children(object, static_cast<int>(before));
    if (host_.pci.size() == before + 1) // leads to nothing of ours
      host_.pci.pop_back();
  }

  void device(hwloc_obj_t object, int parent) {
    const auto& pci = object->attr->pcidev;
    PciDevice device = described(object, pci, parent);
    device.kind = kind_of_pci_class(*device.pci_class);
    // Server boards have their own VGA controller; only NVIDIA's GPUs count.
    if (device.kind == PciKind::gpu && pci.vendor_id != k_nvidia_vendor)
      device.kind = PciKind::other;
    if (device.kind == PciKind::nvswitch && pci.vendor_id != k_nvidia_vendor)
      device.kind = PciKind::other;
    if (device.kind == PciKind::other)
      return;
    if (device.kind == PciKind::gpu)
      gpu(object, device);
    if (device.kind == PciKind::nic)
      nics(object, device);
    host_.pci.push_back(std::move(device));
  }

  void gpu(hwloc_obj_t object, const PciDevice& device) {
    Gpu gpu;
    gpu.index = -1;
    gpu.bus_id = said(device.bus_id);
    gpu.numa_node = numa_;
    gpu.name = device.name;
    for (hwloc_obj_t child = object->io_first_child; child; child = child->next_sibling) {
      gpu.uuid.fill_from(info(child, "NVIDIAUUID"));
      if (auto model = info(child, "GPUModel"))
        gpu.name = model;
      int number = 0;
      std::string_view name = child->name ? child->name : "";
      if (name.starts_with("nvml") &&
          std::from_chars(name.data() + 4, name.data() + name.size(), number).ec == std::errc() &&
          std::ranges::find(host_.gpus, number, &Gpu::index) == host_.gpus.end())
        gpu.index = number;
    }
    host_.gpus.push_back(std::move(gpu));
  }

  // hwloc sums the NVLinks between two devices in one direction, in MB/s, with its own rate for
  // each generation.
  void nvlinks() {
    hwloc_distances_s* matrix = nullptr;
    unsigned found = 1;
    if (hwloc_distances_get_by_name(topology_, "NVLinkBandwidth", &found, &matrix, 0) != 0 ||
        found == 0)
      return;
    if (auto rate = nvlink_rate(*matrix))
      for (unsigned from = 0; from < matrix->nbobjs; ++from)
        if (Gpu* gpu = gpu_of(matrix->objs[from]))
          gpu->nvlinks = said(links_from(*matrix, from, *rate));
    hwloc_distances_release(topology_, matrix);
  }

  static std::uint64_t value_at(const hwloc_distances_s& matrix, unsigned from, unsigned to) {
    return from == to ? 0 : matrix.values[std::size_t{from} * matrix.nbobjs + to];
  }

  // The rate of one link. Only the GPU's model distinguishes links of 50 GB/s from pairs of 25.
  std::optional<std::uint64_t> nvlink_rate(const hwloc_distances_s& matrix) {
    constexpr std::uint64_t k_first = 20'000, k_usual = 25'000, k_fifth = 50'000;
    std::uint64_t common = 0;
    for (unsigned from = 0; from < matrix.nbobjs; ++from)
      for (unsigned to = 0; to < matrix.nbobjs; ++to)
        common = std::gcd(common, value_at(matrix, from, to));
    if (common == 0)
      return std::nullopt;
    if (common % k_usual != 0)
      return common % k_first == 0 ? std::optional(k_first) : std::nullopt;
    if (common % k_fifth != 0)
      return k_usual;
    for (unsigned i = 0; i < matrix.nbobjs; ++i)
      if (const Gpu* gpu = gpu_of(matrix.objs[i]))
        if (auto models = knowledge::find_gpu_models(gpu->name.value_or("")); !models.empty())
          return models.front()->capability.major >= 10 ? k_fifth : k_usual;
    return std::nullopt;
  }

  static std::vector<NvLink> links_from(const hwloc_distances_s& matrix, unsigned from,
                                        std::uint64_t rate) {
    constexpr std::uint64_t k_most_links =
        256; // a file may claim anything; larger numbers are rejected later
    std::vector<NvLink> links;
    for (unsigned to = 0; to < matrix.nbobjs && links.size() <= k_most_links; ++to) {
      NvLink link;
      link.active = said(true);
      link.gb_per_s = said(static_cast<double>(rate) / 1000);
      hwloc_obj_t end = pci_device_of(matrix.objs[to]);
      if (end)
        link.remote_bus_id = said(bus_id_of(end->attr->pcidev));
      bool gpu = end && end->attr->pcidev.class_id >> 8 == 0x03;
      link.remote = said(!end ? RemoteKind::cpu : gpu ? RemoteKind::gpu : RemoteKind::nvswitch);
      links.insert(links.end(), std::min(value_at(matrix, from, to) / rate, k_most_links), link);
    }
    return links;
  }

  static hwloc_obj_t pci_device_of(hwloc_obj_t object) {
    while (object && object->type != HWLOC_OBJ_PCI_DEVICE)
      object = object->parent;
    return object;
  }

  Gpu* gpu_of(hwloc_obj_t object) {
    hwloc_obj_t device = pci_device_of(object);
    if (!device)
      return nullptr;
    auto gpu = std::ranges::find_if(host_.gpus, [&](const Gpu& one) {
      return one.bus_id.value == bus_id_of(device->attr->pcidev);
    });
    return gpu == host_.gpus.end() ? nullptr : &*gpu;
  }

  // The RDMA devices of an adapter; if it has none, its network interfaces.
  void nics(hwloc_obj_t object, const PciDevice& device) {
    for (auto type : {HWLOC_OBJ_OSDEV_OPENFABRICS, HWLOC_OBJ_OSDEV_NETWORK}) {
      bool found = false;
      for (hwloc_obj_t child = object->io_first_child; child; child = child->next_sibling) {
        if (child->type != HWLOC_OBJ_OS_DEVICE || child->attr->osdev.type != type || !child->name)
          continue;
        Nic nic;
        nic.name = child->name;
        nic.bus_id = said(device.bus_id);
        nic.numa_node = numa_;
        host_.nics.push_back(std::move(nic));
        found = true;
      }
      if (found)
        return;
    }
  }

  hwloc_topology_t topology_;
  Host host_;
  Fact<int> numa_; // of the host bridge that is being read
  Fact<std::string> root_;
};

} // namespace

namespace {

Result<Topology> loaded_topology() {
  Topology topology = new_topology();
  if (!topology || hwloc_topology_load(topology.get()) != 0)
    return fail(Errc::failed, "hwloc cannot describe this host");
  return topology;
}

// Each major version of hwloc reads its own files and older ones.
Result<void> check_version(const XmlFile& file) {
  std::string version = XmlFile::text(file.root(), "version").value_or("1.0");
  unsigned major = hwloc_get_api_version() >> 16;
  if (std::atoi(version.c_str()) <= static_cast<int>(major))
    return {};
  return file.fail_at(file.root(),
                      "this file needs hwloc {0}; this program reads files of hwloc {1} and older. "
                      "Write it again with: lstopo --of v{1}xml FILE",
                      version, major);
}

// "0x000000ff,0x00000001", or "0xf...f,0x00000001" without an end.
bool is_set(std::string_view text) {
  constexpr std::string_view k_endless = "0xf...f";
  if (text.starts_with(k_endless))
    text.remove_prefix(k_endless.size());
  return text.find_first_not_of("0123456789abcdefABCDEFx,") == std::string_view::npos;
}

// hwloc 2 writes all of these sets. Version 2.9 crashes on a file in which one is missing, or is
// not a set. It skips what follows a text between objects. It accepts any number as the kind of a
// bridge or device.
Result<void> check_objects(const XmlFile& file, const pugi::xml_node& parent) {
  for (const pugi::xml_node& object : parent.children("object")) {
    std::string_view type = object.attribute("type").value();
    bool has_cpus = type != "Bridge" && type != "PCIDev" && type != "OSDev" && type != "Misc";
    for (const char* set : {"cpuset", "complete_cpuset", "nodeset", "complete_nodeset"}) {
      const std::optional<std::string> text = XmlFile::text(object, set);
      if (has_cpus && !text)
        return file.fail_at(object, "<object type=\"{}\"> has no {}", type, set);
      if (text && !is_set(*text))
        return file.fail_at(object, "{}=\"{}\" is not a set of CPUs or nodes", set, *text);
    }
    if (!std::string_view(object.text().get()).empty())
      return file.fail_at(object, "<object type=\"{}\"> has text in it", type);
    // A set takes as much memory as its largest number requires.
    if (has_cpus && std::string_view(object.attribute("os_index").value()).size() > 6)
      return file.fail_at(object, "os_index=\"{}\" is not the number of a CPU or node",
                          object.attribute("os_index").value());
    std::string_view bridge = object.attribute("bridge_type").value();
    if (type == "Bridge" && bridge != "0-1" && bridge != "1-1")
      return file.fail_at(object, "bridge_type=\"{}\" is neither 0-1 nor 1-1", bridge);
    std::string_view device = object.attribute("osdev_type").value();
    if (type == "OSDev" && (device.size() != 1 || device[0] < '0' || device[0] > '5'))
      return file.fail_at(object, "osdev_type=\"{}\" is not one of 0 to 5", device);
    NCCLPROBE_TRY(check_objects(file, object));
  }
  return {};
}

} // namespace

Result<Host> hwloc_topology() {
  NCCLPROBE_TRY_ASSIGN(Topology topology, loaded_topology());
  return Translation(topology.get()).host();
}

Result<std::string> hwloc_xml() {
  NCCLPROBE_TRY_ASSIGN(Topology topology, loaded_topology());
  char* buffer = nullptr;
  int bytes = 0; // including the terminating zero
  if (hwloc_topology_export_xmlbuffer(topology.get(), &buffer, &bytes, 0) != 0)
    return fail(Errc::failed, "hwloc cannot write what it sees");
  std::string xml(buffer, static_cast<std::size_t>(std::max(bytes - 1, 0)));
  hwloc_free_xmlbuffer(topology.get(), buffer);
  return xml;
}

Result<Machine> read_hwloc_xml(std::string_view text, const std::string& name) {
  // hwloc reports neither the error nor its place.
  NCCLPROBE_TRY_ASSIGN(XmlFile file, XmlFile::parse(text, name));
  if (std::string_view(file.root().name()) != "topology")
    return file.fail_at(file.root(), "a file of hwloc begins with <topology>, not <{}>",
                        file.root().name());
  NCCLPROBE_TRY(check_version(file));
  NCCLPROBE_TRY(check_objects(file, file.root()));
  ::setenv("HWLOC_HIDE_ERRORS", "2",
           0); // otherwise it prints messages on stderr, without the file's name
  std::string buffer(text);
  Topology topology = new_topology();
  if (!topology ||
      hwloc_topology_set_xmlbuffer(topology.get(), buffer.c_str(),
                                   static_cast<int>(buffer.size()) + 1) != 0 ||
      hwloc_topology_load(topology.get()) != 0)
    return file.fail_at(file.root(), "hwloc does not accept this topology: something is missing, "
                                     "or two parts contradict each other");
  Machine machine;
  machine.hosts.push_back(Translation(topology.get()).host());
  NCCLPROBE_TRY(validate(machine, name));
  return machine;
}

} // namespace ncclprobe::topology
