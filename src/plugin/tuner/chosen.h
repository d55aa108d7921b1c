// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuning/table.h"

#include "model/collective.h"
#include "model/trial.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The algorithm, protocol and channels of the running cell, inside a worker
// (NCCL_TUNER_PLUGIN=STATIC_PLUGIN). The state is global in the process, because NCCL finds the
// plugin by name. Any thread may call these functions at any time.
namespace ncclprobe::plugin {

struct CellChoice {
  std::optional<model::Collective> collective; // absent: all about which NCCL asks
  // With one of the two, NCCL chooses the other.
  std::optional<tuning::Algorithm> algorithm;
  std::optional<tuning::Protocol> protocol;
  int channels = tuning::k_keep_channels; // NCCL lowers it to what the communicator has
  bool operator==(const CellChoice&) const = default;
};

// The choice that a cell's settings mean: algorithm=Ring, protocol=LL128, channels=8. Throws
// Exception (unsupported), naming the setting, for any other name or value.
CellChoice choice_of(const std::vector<model::Setting>& settings);

// Later calls get this choice, on all communicators of the process. An empty one leaves everything
// to NCCL. Forgets the offers so far.
void choose(const CellChoice& choice);

// What NCCL's cost table offered for a call, and whether the choice was applied.
struct Offer {
  struct Cost {
    tuning::Choice choice;
    double us = 0; // NCCL's own estimate
  };
  int collective = 0; // index of tuning::k_tuned_collectives
  std::uint64_t bytes = 0;
  int ranks = 0;
  std::vector<Cost> possible; // cheapest first: NCCL's own choice is the first one
  bool applied = true;        // false: none of `possible` fits the choice; NCCL kept its own
};
// One for each collective, size and number of ranks since choose(), at most 64.
std::vector<Offer> offers();

// Why the current choice was not applied to a call; empty: it was applied to all of them. "NCCL
// offers no Tree with LL128 for all_reduce of 1024 bytes on 8 ranks; it offers Ring with LL, ...".
std::string why_not_applied();

// A line for the evidence about each shape of communicators whose NVLink domains NCCL gave (since
// interface 5), at most 64: "communicator nRanks 8 nNodes 1 nvlDomains 1 of 8 to 8 ranks".
std::vector<std::string> communicator_lines();

// Version of the interface that NCCL uses; 0 if it has not called yet.
int tuner_interface();

} // namespace ncclprobe::plugin
