// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Whether links are as they should be: one rule for the map and the doctor.
namespace ncclprobe::topology {

// What was told of one GPU's NVLinks.
struct NvLinkCount {
  std::string gpu; // model, as the driver names it
  std::optional<int> links;
  std::optional<int> up;
  std::optional<std::uint32_t> pci_device_id;
  bool mig = false;
  bool in_fabric = false; // the driver tells a state in the NVSwitches' fabric
};

enum class NvLinkState {
  untold,
  as_expected, // all are up, or it has none
  bridged,     // some, on all GPUs alike: cards with bridges on part of their slots
  undecided,   // none is up, and nothing tells whether one should be
  down,
};

struct NvLinkHealth {
  NvLinkState state = NvLinkState::untold;
  int up = 0;
  int links = 0;
  std::optional<int> elsewhere; // up on the best GPU of this model and host, if that is more
  std::optional<int> published; // of this model, if that is more
  std::string reason;           // of an undecided one: why it may be well

  // "16 of 16 NVLinks are up; others of this host have 18 up; this model has 18"
  std::string text() const;
};
// For each GPU of a host, in their order.
std::vector<NvLinkHealth> nvlink_health(const std::vector<NvLinkCount>& gpus_of_host,
                                        bool has_nvswitches);

// Whether a GPU was kept busy while it was looked at: an idle one lowers its PCIe link's speed,
// which is no fault.
enum class Load { idle, busy };

struct PcieSpeed {
  std::optional<int> generation;
  std::optional<int> best_generation; // of GPU and slot
  std::optional<int> width;
  std::optional<int> best_width;
};
enum class PcieState {
  as_expected, // as far as it was told
  idle,        // below its generation, as idle ones are: load would show
  slow,        // below its generation under load
  narrow,      // fewer lanes than it could have, at any load
};
PcieState pcie_state(const PcieSpeed& speed, Load load);

} // namespace ncclprobe::topology
