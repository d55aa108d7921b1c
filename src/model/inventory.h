// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"
#include "base/fields.h"
#include "model/library.h"
#include "model/trial.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// The machine and its software, as far as one host's worker can see. An unavailable value is empty
// or absent, never invented.
namespace ncclprobe::model {

struct CudaDevice {
  int index = 0; // CUDA ordinal inside a worker
  std::string name;
  std::string uuid;
  std::string pci_bus_id;
  std::string compute_capability; // "9.0"
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  int multiprocessors = 0;
  std::optional<int> nvlinks; // active links
  std::string compute_mode;   // "default", "exclusive_process", "prohibited"
  std::optional<bool> mps;    // processes share it through NVIDIA's multi-process service
  bool operator==(const CudaDevice&) const = default;
};
NCCLPROBE_DESCRIBE(CudaDevice, NCCLPROBE_COLUMN(index, "CUDA ordinal of the GPU on its host"),
                   NCCLPROBE_COLUMN(name, "product name"),
                   NCCLPROBE_COLUMN(uuid, "UUID of the GPU, GPU-..."),
                   NCCLPROBE_COLUMN(pci_bus_id, "PCI address, domain:bus:device.function"),
                   NCCLPROBE_COLUMN(compute_capability, "CUDA compute capability, such as 9.0"),
                   NCCLPROBE_COLUMN(memory_bytes, "total memory of the GPU, bytes"),
                   NCCLPROBE_COLUMN(free_bytes, "free memory before the run, bytes"),
                   NCCLPROBE_COLUMN(multiprocessors, "number of streaming multiprocessors"),
                   NCCLPROBE_COLUMN(nvlinks, "number of active NVLinks"),
                   NCCLPROBE_COLUMN(compute_mode, "default, exclusive_process or prohibited"),
                   NCCLPROBE_COLUMN(mps,
                                    "1: processes share the GPU through MPS (Multi-Process "
                                    "Service)",
                                    base::grown))

struct HostInventory {
  std::string hostname;
  std::string boot_id; // of the running kernel
  std::string cpu_model;
  int cpus_allowed = 0;
  std::uint64_t memory_bytes = 0;
  std::string kernel;
  std::vector<CudaDevice> gpus;
  std::vector<Library> libraries;
  std::string worker_version; // ncclprobe version, build options, architectures
  std::string nvidia_problem; // why the nvidia backend cannot be used; empty if it can
  // Numbers GPUs as nvidia-smi does; the bus id links the two lists.
  topology::Host topology;
  std::vector<std::string> contradictions; // contradictions between the topology's sources
  bool operator==(const HostInventory&) const = default;

  // A host is a name and a boot id, as for NCCL: pods of one node share the boot id, and neither
  // GPUs nor /dev/shm.
  using Identity = std::pair<std::string, std::string>;
  Identity identity() const { return {hostname, boot_id}; }
  bool same_host(const HostInventory& other) const {
    return hostname == other.hostname && boot_id == other.boot_id;
  }

  const Library* library(std::string_view name) const {
    for (const Library& one : libraries)
      if (one.name == name)
        return &one;
    return nullptr;
  }
};
NCCLPROBE_DESCRIBE(
    HostInventory, NCCLPROBE_COLUMN(hostname, "name of the host"),
    NCCLPROBE_COLUMN(
        boot_id, "boot id of the running kernel; hostname and boot_id together identify a host"),
    NCCLPROBE_COLUMN(cpu_model, "CPU model, as the kernel names it"),
    NCCLPROBE_COLUMN(cpus_allowed, "number of logical CPUs that ncclprobe may use on the host"),
    NCCLPROBE_COLUMN(memory_bytes, "main memory of the host, bytes"),
    NCCLPROBE_COLUMN(kernel, "name and release of the kernel"),
    NCCLPROBE_COLUMN(gpus, "the GPUs of each host"),
    NCCLPROBE_COLUMN(libraries, "the libraries that ncclprobe looked for on each host"),
    NCCLPROBE_COLUMN(worker_version, "ncclprobe-worker's version and build options"),
    NCCLPROBE_COLUMN(nvidia_problem, "why the NVIDIA backend cannot be used; empty if it can"),
    NCCLPROBE_COLUMN(topology, "topology of the host, as `ncclprobe topo` shows it", base::grown,
                     base::whole),
    NCCLPROBE_COLUMN(contradictions, "where the sources of the topology disagree", base::grown))

} // namespace ncclprobe::model
