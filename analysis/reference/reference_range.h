// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/measured.h"
#include "model/inventory.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// "Is this number normal?" The reference is what others published, or we measured, on the same kind
// of node, else the ceiling of the links. Pure. GB/s are 1e9 bytes a second: P2P in one direction
// unless the kind says otherwise, collectives as busbw.
namespace ncclprobe::analysis {

// The connections between the GPUs of one node, in one direction; absent is unknown.
struct NodeLinks {
  std::string gpu;                       // model, as the driver names it
  int gpus = 0;                          // of the node
  std::optional<double> nvlink_gb_per_s; // of a GPU; 0: it has none
  std::optional<double> pcie_gb_per_s;   // theoretical
};
// From an inventory. Nothing if the host has no GPUs, or GPUs of different models or links.
std::optional<NodeLinks> node_links(const model::HostInventory& host);

struct MeasuredFigure {
  knowledge::FigureKind kind;
  std::uint64_t bytes = 0;
  int ranks = 0; // of the collective, one a GPU
  double gb_per_s = 0;
  bool nvls_off = false; // by NCCL_NVLS_ENABLE=0: then a ring is what to expect
};

enum class RangeLevel { normal, low, broken, unknown };

struct RangeVerdict {
  RangeLevel verdict = RangeLevel::unknown;
  std::optional<double> expected_gb_per_s; // what was published, or estimated
  std::optional<double> least_gb_per_s;    // lower limit of the normal range
  std::optional<double> ceiling_gb_per_s;  // of the link
  bool estimate = false;                   // nothing was published: from the ceiling alone
  std::string basis;                       // the reference
  std::string source;                      // address; empty for an estimate
  std::vector<std::string> causes;         // of an abnormal figure, likeliest first
};

RangeVerdict judge_by_range(const NodeLinks& links, const MeasuredFigure& figure);

// One line: "low: 201.30 GB/s; 8 x NVIDIA H200 reach 467.60 (published, all_reduce large, NVLS)".
std::string describe(const RangeVerdict& verdict, const MeasuredFigure& figure);

// Why a second GPU may bring little, likeliest first for these links, with the cost of one gigabyte
// of gradients per step. People call a speed-up below 1.5 from two GPUs "none".
std::vector<std::string> why_no_speed_up(const NodeLinks& links);

} // namespace ncclprobe::analysis
