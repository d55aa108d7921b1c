// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Whether links are as they should be: one rule for topo and doctor.
namespace ncclprobe::topology {

// The facts about one GPU's NVLinks.
struct NvLinkCount {
  std::string gpu; // model, as the driver names it
  std::optional<int> links;
  std::optional<int> up;
  std::optional<std::uint32_t> pci_device_id;
  bool mig = false;
  bool in_fabric = false; // the driver reports a state in the NVSwitch fabric
};

enum class NvLinkState {
  untold,
  as_expected, // all are up, or it has none
  bridged,     // the same part on all GPUs: cards without all of their bridges
  undecided,   // none is up, and it is unknown whether one should be
  down,
};

struct NvLinkHealth {
  NvLinkState state = NvLinkState::untold;
  int up = 0;
  int links = 0;
  std::optional<int> elsewhere; // number up on the best GPU of this model on the host, if higher
  std::optional<int> published; // number of this model, if higher
  std::string reason;           // if undecided: why the GPU may be healthy

  // "16 of 16 NVLinks are up; others on this host have 18 up; this model has 18"
  std::string text() const;
};
// For each GPU of a host, in their order.
std::vector<NvLinkHealth> nvlink_health(const std::vector<NvLinkCount>& gpus_of_host,
                                        bool has_nvswitches);

// Whether a GPU was busy during the reading: an idle one lowers its PCIe link's speed, which is not
// a fault.
enum class Load { idle, busy };

struct PcieSpeed {
  std::optional<int> generation;
  std::optional<int> best_generation; // of GPU and slot together
  std::optional<int> width;
  std::optional<int> best_width;
};
enum class PcieState {
  as_expected, // as far as known
  idle,        // below its generation, as when idle: only load would show its speed
  slow,        // below its generation under load
  narrow,      // fewer lanes than possible, with or without load
};
PcieState pcie_state(const PcieSpeed& speed, Load load);

} // namespace ncclprobe::topology
