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
#include <vector>

// What the machine is and which software is on it, as far as one host's worker can see. A value
// that could not be had is empty or absent, never invented.
namespace ncclprobe::model {

struct Gpu {
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
  bool operator==(const Gpu&) const = default;
};
NCCLPROBE_GROWN_FIELDS(Gpu,
                       (index, name, uuid, pci_bus_id, compute_capability, memory_bytes, free_bytes,
                        multiprocessors, nvlinks, compute_mode),
                       (mps))

struct Host {
  std::string hostname;
  std::string boot_id; // same boot id = same host, whatever the names say
  std::string cpu_model;
  int cpus_allowed = 0;
  std::uint64_t memory_bytes = 0;
  std::string kernel;
  std::vector<Gpu> gpus;
  std::vector<Library> libraries;
  std::string worker_version; // ncclprobe version, build options, architectures
  std::string nvidia_problem; // why the nvidia backend cannot be used; empty if it can
  // GPUs there are numbered as nvidia-smi does it; the bus id leads from one list to the other.
  topology::Host topology;
  std::vector<std::string> contradictions; // where the sources of the topology disagree
  bool operator==(const Host&) const = default;

  const Library* library(std::string_view name) const {
    for (const Library& one : libraries)
      if (one.name == name)
        return &one;
    return nullptr;
  }
};
NCCLPROBE_GROWN_FIELDS(Host,
                       (hostname, boot_id, cpu_model, cpus_allowed, memory_bytes, kernel, gpus,
                        libraries, worker_version, nvidia_problem),
                       (topology, contradictions))

} // namespace ncclprobe::model
