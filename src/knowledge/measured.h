// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Results that others published, or we measured, by node type. GB/s are 1e9 bytes a second; P2P in
// one direction, collectives as busbw.
namespace ncclprobe::knowledge {

struct ReferencePoint {
  std::uint64_t bytes = 0;
  double time_us = 0;
  double busbw_gb_per_s = 0;
};

// A curve of one collective on one node.
struct ReferenceCurve {
  std::string gpu; // as the driver names it
  std::string nccl;
  std::string collective; // "all_reduce", "all_to_all"
  int gpus = 0;
  std::vector<ReferencePoint> points; // ascending
};
const std::vector<ReferenceCurve>& reference_curves();
const std::vector<std::string>& reference_curve_sources();

// What a bandwidth is of: a collective, or a copy. Copies between GPUs are made by copy engines, by
// kernels (p2p_sm_...), or through host memory with P2P disabled.
struct FigureKind {
  enum class Path { collective, p2p, p2p_sm_write, p2p_sm_read, p2p_host, host_device };
  Path path = Path::collective;
  std::string collective{}; // its name
  bool bidirectional = false;
  bool operator==(const FigureKind&) const = default;

  bool is_collective() const { return path == Path::collective; }
  bool copied_by_kernel() const { return path == Path::p2p_sm_write || path == Path::p2p_sm_read; }
  bool over_host_link() const { return path == Path::p2p_host || path == Path::host_device; }
};

// One figure: the result of a large transfer or collective on a kind of node.
struct ReferenceFigure {
  std::string gpu; // a name that find_gpu_models() knows
  FigureKind kind;
  int gpus = 0;             // in the collective; 0: any
  std::optional<bool> nvls; // absent: irrelevant or unknown
  std::string link;         // "nvlink", "pcie", "c2c"
  std::uint64_t bytes = 0;  // 0: large
  double low_gb_per_s = 0;  // of the reported values
  double high_gb_per_s = 0;
  std::optional<double> threshold_gb_per_s; // a published health check fails nodes below it
  std::string note;
  std::string source;      // address of the publication, or of the measuring tool
  std::string measured_by; // program, machine and date, if it is ours; empty if published
};
const std::vector<ReferenceFigure>& reference_figures();

} // namespace ncclprobe::knowledge
