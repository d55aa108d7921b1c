// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"
#include "model/gpu_health.h"
#include "model/inventory.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What `doctor` examines: a rank's process as in a trial, and its host. Plain data; an unavailable
// value is absent or empty, never invented.
namespace ncclprobe::model {

// A code file that is mapped into the process.
struct MappedLibrary {
  std::string path;    // of the file itself, with links resolved
  std::string soname;  // the name that programs request: "libnccl.so.2"
  std::string runpath; // RPATH or RUNPATH of the file
  bool rpath = false;  // it is the older RPATH, which has priority over LD_LIBRARY_PATH
  bool operator==(const MappedLibrary&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(MappedLibrary, path, soname, runpath, rpath)

// Absent: no limit.
struct Limit {
  std::string name; // "memlock", "nofile", "stack", "nproc"
  std::optional<std::uint64_t> soft;
  std::optional<std::uint64_t> hard;
  bool operator==(const Limit&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(Limit, name, soft, hard)

// The limits that control groups set for this process. Absent: no limit, or unknown.
struct Confinement {
  std::string container; // evidence of a container; empty: none
  std::optional<std::uint64_t> memory_limit_bytes;
  std::optional<std::uint64_t> memory_used_bytes;
  std::optional<double> cpus;
  std::optional<std::uint64_t> pids_limit;
  std::optional<std::uint64_t> pids_used;
  std::optional<bool> numa_calls_allowed; // get_mempolicy(2)
  bool operator==(const Confinement&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(Confinement, container, memory_limit_bytes, memory_used_bytes, cpus,
                         pids_limit, pids_used, numa_calls_allowed)

// A file or library that a variable names, and whether it exists.
struct LookedFor {
  std::string name;
  bool found = false;
  bool operator==(const LookedFor&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(LookedFor, name, found)

// The tuner plugin that NCCL_TUNER_PLUGIN names, loaded on trial.
struct TriedTuner {
  std::string plugin;        // as the variable has it
  std::string problem;       // why NCCL would go on without it; empty: it can be loaded
  std::string table_problem; // why ours would create no communicator; empty: it would
  bool operator==(const TriedTuner&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(TriedTuner, plugin, problem, table_problem)

struct ProcessSurvey {
  std::vector<Setting> environment;  // those of bears_on_communication(), as stored_value()
  std::vector<LookedFor> looked_for; // that NCCL would open because of it
  std::optional<TriedTuner> tuner;   // absent: none is named
  std::vector<MappedLibrary> libraries;
  std::vector<Limit> limits;
  Confinement confinement;
  std::vector<int> cpus_allowed;
  bool operator==(const ProcessSurvey&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(ProcessSurvey, environment, looked_for, tuner, libraries, limits,
                         confinement, cpus_allowed)

struct SharedSegment {
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t age_s = 0;
  std::uint32_t owner = 0; // user id
  bool operator==(const SharedSegment&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(SharedSegment, name, bytes, age_s, owner)

struct SharedMemory {
  std::uint64_t size_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::vector<SharedSegment> segments; // NCCL's, CUDA's and MPI's, by name
  // Whether systemd's logind removes it when the user's last session ends (RemoveIPC). Absent:
  // unknown.
  std::optional<bool> removed_at_logout;
  std::string problem; // why this process cannot create a file there; empty: it can
  bool operator==(const SharedMemory&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(SharedMemory, size_bytes, free_bytes, segments, removed_at_logout, problem)

struct PciBridge {
  std::string address; // "0000:3a:00.0"
  // It sends requests between devices up to the root first. Absent: its configuration space could
  // not be read (only root may).
  std::optional<bool> redirects_peers;
  bool operator==(const PciBridge&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(PciBridge, address, redirects_peers)

// Devices whose addresses the IOMMU treats alike.
struct IommuGroup {
  std::string type; // "identity": passed through; "DMA", "DMA-FQ": translated; empty: unknown
  std::vector<std::string> devices; // GPUs and network cards only
  bool operator==(const IommuGroup&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(IommuGroup, type, devices)

struct PciSurvey {
  std::vector<PciBridge> bridges;
  int iommu_groups = 0;
  std::vector<IommuGroup> device_groups; // those with a GPU or a network card
  std::string iommu_words;               // of the kernel's command line: "intel_iommu=on iommu=pt"
  std::string hypervisor;                // empty: no evidence of one
  bool operator==(const PciSurvey&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(PciSurvey, bridges, iommu_groups, device_groups, iommu_words, hypervisor)

struct KernelModule {
  std::string name; // "nvidia_peermem"
  std::string version;
  bool operator==(const KernelModule&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(KernelModule, name, version)

struct DriverSurvey {
  std::string module_version; // /proc/driver/nvidia/version: of the loaded module
  std::string flavour;        // "open" or "proprietary"
  std::vector<KernelModule> modules;
  std::vector<std::string> services;     // running: "nv-fabricmanager", "nvidia-persistenced", ...
  std::vector<std::string> device_files; // "/dev/nvidiactl", "/dev/nvidia-uvm", ...
  std::string fabric_manager_version;    // of its package
  int nvidia_pci_devices = 0;            // GPUs and switches on the PCI bus
  int nvswitches = 0;
  bool operator==(const DriverSurvey&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(DriverSurvey, module_version, flavour, modules, services, device_files,
                         fabric_manager_version, nvidia_pci_devices, nvswitches)

struct NetworkInterface {
  std::string name;
  bool up = false;
  bool running = false;
  bool loopback = false;
  std::optional<int> speed_mbit_per_s; // virtual ones report none
  int mtu_bytes = 0;
  std::vector<std::string> addresses; // "192.0.2.2", "fe80::1"
  bool operator==(const NetworkInterface&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(NetworkInterface, name, up, running, loopback, speed_mbit_per_s, mtu_bytes,
                         addresses)

struct RdmaPort {
  std::string device; // "mlx5_0"
  int port = 1;
  std::string state;      // "ACTIVE"
  std::string rate;       // "400 Gb/sec (4X NDR)"
  std::string link_layer; // "InfiniBand", "Ethernet"
  int gids = 0;           // that are set
  bool operator==(const RdmaPort&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(RdmaPort, device, port, state, rate, link_layer, gids)

// An NVIDIA driver error in the kernel's log.
struct Xid {
  int number = 0;
  std::string pci_bus_id; // "0000:3b:00"
  std::string line;
  std::optional<std::int64_t> age_s; // when it was read; absent: the line has no time
  bool operator==(const Xid&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(Xid, number, pci_bus_id, line, age_s)

struct KernelLog {
  std::string source;  // that was read; empty: none was readable
  std::string problem; // why none was readable
  std::vector<Xid> xids;
  std::optional<std::int64_t> uptime_s; // of the host, then
  bool operator==(const KernelLog&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(KernelLog, source, problem, xids, uptime_s)

// A file of settings that NCCL reads besides the environment.
struct NcclFile {
  std::string path;
  std::vector<Setting> settings;
  bool operator==(const NcclFile&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(NcclFile, path, settings)

// A CUDA runtime or NCCL that is installed on the host, loaded or not.
struct InstalledLibrary {
  std::string path;    // of the file itself, with links resolved
  std::string soname;  // "libcudart.so.12"
  std::string version; // from the file's name or its Python package; empty: unknown
  // Where it was found: "LD_LIBRARY_PATH", "loader", "toolkit", "folder" (/usr/local/lib),
  // "VIRTUAL_ENV", "CONDA_PREFIX" or "--python".
  std::string found_by;
  bool operator==(const InstalledLibrary&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(InstalledLibrary, path, soname, version, found_by)

struct HostSurvey {
  std::optional<SharedMemory> shared_memory;
  PciSurvey pci;
  DriverSurvey driver;
  std::vector<NetworkInterface> interfaces;
  std::vector<RdmaPort> rdma;
  KernelLog kernel_log;
  std::vector<NcclFile> nccl_files;        // existing ones, in the order in which NCCL reads them
  std::vector<std::string> name_addresses; // those of the host's own name in /etc/hosts
  std::vector<InstalledLibrary> installed; // each once, in the order of the search
  bool operator==(const HostSurvey&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(HostSurvey, shared_memory, pci, driver, interfaces, rdma, kernel_log,
                         nccl_files, name_addresses, installed)

struct Survey {
  std::vector<int> ranks; // that started like this process
  std::string mpi;        // the launcher's library; empty without one
  std::string ncclprobe;  // version and build of the supervisor
  std::string taken_utc;
  HostInventory inventory;
  ProcessSurvey process;
  std::optional<HostSurvey> host; // from the first supervisor of each host
  std::vector<GpuHealth> health;  // likewise: every GPU of the host that NVML knows
  std::string health_problem;     // why there is none
  std::string problem; // why the worker did not answer when it examined GPUs; the rest is from one
                       // without GPUs
  std::string worker_problem;   // why the worker does not answer at all: nothing was examined
  bool worker_mismatch = false; // the reason is a worker of another version
  // Of a package with several workers; empty otherwise.
  std::string worker_program; // "ncclprobe-worker-cuda13"
  std::string worker_chosen_because;
  bool operator==(const Survey&) const = default;

  const Setting* variable(std::string_view name) const;
};
NCCLPROBE_PARTLY_LENIENT_FIELDS(Survey, (inventory, process),
                                (ranks, mpi, ncclprobe, taken_utc, host, health, health_problem,
                                 problem, worker_problem, worker_mismatch, worker_program,
                                 worker_chosen_because))

// What a worker examines for a survey.
enum class SurveyScope {
  rank,   // its process, libraries and GPUs
  host,   // and what all processes of the host share
  health, // of the GPUs alone
};

// True for variables that affect measurements: those of communication libraries, of visible GPUs
// and of the loader's search.
bool bears_on_communication(std::string_view name);
// Of these, those that give a rank's place or output files: they may differ between ranks.
bool may_differ_between_ranks(std::string_view name);

} // namespace ncclprobe::model
