// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/compute_capability.h"
#include "knowledge/gpu_names.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Published data about GPU models, compute capabilities and links. GB/s are 1e9 bytes a second in
// ONE direction unless the name says total. An absent value is not sourced: unknown, never zero or
// no.
namespace ncclprobe::knowledge {

struct NvlinkFacts {
  bool present = false;
  std::string generation; // "4", "3 (GA102)"
  std::optional<int> links;
  std::optional<double> gb_per_s; // of a GPU
  std::string via;                // "SXM5, NVSwitch", "bridge"
  // Only through a bridge between at most this many GPUs, which is optional.
  std::optional<int> bridged_gpus;

  // Both directions, as vendors print it.
  std::optional<double> total_gb_per_s() const;
};

enum class Segment { data_center, workstation, geforce, laptop, jetson };
constexpr auto enum_names(Segment) {
  using enum Segment;
  return std::to_array<std::pair<Segment, std::string_view>>({{data_center, "data center"},
                                                              {workstation, "workstation"},
                                                              {geforce, "GeForce"},
                                                              {laptop, "laptop"},
                                                              {jetson, "Jetson"}});
}

// Peak rate of products of matrices without sparsity, by the type of the factors, 10^12 operations
// per second (a multiplication and an addition are two).
struct TensorRates {
  std::optional<double> bf16, f16, tf32;

  std::string text() const; // "bf16 989, f16 989, tf32 494.5 Tflop/s"; empty: not sourced
};

// Keys of sources, by kind of data.
struct GpuSources {
  std::vector<std::string> capability;
  std::vector<std::string> card; // memory, PCIe, power
  std::vector<std::string> nvlink;
  std::vector<std::string> tensor; // tensor_tflops

  std::vector<std::string> all() const; // each once
};

struct GpuModel {
  std::string name;   // "A100 SXM4 80GB"
  std::string family; // "GeForce RTX 40"
  ComputeCapability capability;
  std::string architecture;
  Segment segment = Segment::data_center;
  bool arm_host = false; // it comes only with an Arm CPU
  std::optional<double> memory_gb;
  std::string memory_type;
  std::optional<double> memory_gb_per_s;
  TensorRates tensor_tflops;
  bool on_pcie = true; // false: integrated, or attached by host_link
  std::optional<int> pcie_generation;
  std::optional<int> pcie_width;
  std::optional<double> pcie_gb_per_s; // theoretical
  std::optional<NvlinkFacts> nvlink;   // absent: not sourced
  std::string host_link;               // "NVLink-C2C"; empty: PCIe or integrated
  std::optional<double> host_link_gb_per_s;
  std::optional<double> power_w;
  std::string form_factor;
  std::vector<std::string> pci_device_ids; // of NVIDIA (10DE): "2335", upper case
  std::string note;
  GpuSources sources;
  std::vector<NameWords> names; // all names under which it is known
};
const std::vector<GpuModel>& gpu_models();

// Models that a name can mean: "T4", "NVIDIA A100-SXM4-80GB" (the driver's name), "h100". Several
// if the name is ambiguous (memory size, SXM or PCIe); none if it is unknown.
std::vector<const GpuModel*> find_gpu_models(std::string_view name);

// By NVIDIA's PCI device id, as in 0x2335. nullptr if unknown.
const GpuModel* gpu_model_of_device(std::uint32_t pci_device_id);

// The models with about the observed memory size; all if none matches.
std::vector<const GpuModel*> with_memory(const std::vector<const GpuModel*>& models, double gb);

// Is it known that none of them has NVLink? No for an empty list.
bool all_without_nvlink(const std::vector<const GpuModel*>& models);

// The features of a compute capability.
struct GpuFeatures {
  std::vector<ComputeCapability> capabilities;
  std::string tensor_core_generation;    // empty: not sourced
  std::vector<std::string> tensor_types; // "FP16", "TF32"; empty: no tensor cores
  std::optional<bool> bf16_ops;
  std::optional<bool> tf32;
  std::optional<bool> fp8;
  std::optional<bool> fp4;
  std::optional<bool> async_copy;
  std::optional<bool> tma;
  std::optional<bool> clusters;
  std::optional<bool> multicast; // the instructions exist; whether NVLS works is another matter
  std::optional<int> shared_memory_kb; // of a multiprocessor
  std::string note;
  std::vector<std::string> sources;
};
// nullptr if the table has no such capability.
const GpuFeatures* gpu_features(const ComputeCapability& capability);

struct PcieGeneration {
  int generation = 0;
  double gt_per_s = 0;
  double x16_gb_per_s = 0;      // theoretical
  double nccl_x16_gb_per_s = 0; // NCCL's planning figure
};
const std::vector<PcieGeneration>& pcie_generations();
// Theoretical rate of a link in one direction; nothing for an unknown generation.
std::optional<double> pcie_gb_per_s(int generation, int width);

struct NvlinkGeneration {
  std::string generation;
  std::optional<double> link_gb_per_s;
  std::optional<int> links_most;
  std::optional<double> gpu_gb_per_s;
  std::optional<double> nccl_link_gb_per_s; // NCCL's planning figure
  std::vector<std::string> examples;
  std::string note;
};
const std::vector<NvlinkGeneration>& nvlink_generations();
// Rate of one NVLink of a GPU with this capability, in one direction. Nothing if it has none or is
// unknown. (GA102, 8.6, has slower links than GA100.)
std::optional<double> nvlink_gb_per_s(const ComputeCapability& capability);

} // namespace ncclprobe::knowledge
