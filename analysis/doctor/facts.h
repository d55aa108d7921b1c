// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/check_result.h"
#include "analysis/suitability/node_in_question.h"
#include "analysis/survey/case.h"
#include "model/survey.h"
#include "topology/link_health.h"
#include "workload/nccl_values.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Facts of a survey that several checks use.
namespace ncclprobe::analysis::doctor {

// "580.95.05" of the library entry "580.95.05 (CUDA 13.0)"; empty without a driver.
std::string driver_version(const model::Survey& survey);
// "13.0" of the same entry: the newest CUDA that the driver supports.
std::string driver_cuda_version(const model::Survey& survey);
// The tables' entries for the GPUs of a host, without duplicates. None if the driver reports no
// compute capability for a GPU that the tables lack.
std::vector<GpuInQuestion> gpus_in_question(const model::Survey& survey);
// "GPU 3 (0000:3b:00.0)"
std::string gpu_label(const model::GpuHealth& gpu);
// "generation 3 x16, at most generation 5 x16"; "?" stands for unknown values.
std::string pcie_text(const model::GpuHealth& gpu);
topology::PcieState pcie_state(const model::GpuHealth& gpu, topology::Load load);

// "?" for unknown values: a 0 would be wrong.
template <typename T>
std::string shown(const std::optional<T>& value) {
  return value ? std::to_string(*value) : "?";
}
std::string shown_watts(const std::optional<int>& milliwatts);

// A check that found nothing may say "ok" only if it had all its inputs. Adds a line that names the
// missing ones, if any.
struct CheckInput {
  const char* name;
  bool told;
};
void note_untold(const model::GpuHealth& gpu, std::initializer_list<CheckInput> facts,
                 std::vector<std::string>& lines);

// According to published data, for all models that the name may mean. False for unknown models.
bool is_pcie_card(const std::string& gpu_name); // PCIe cards may have NVLink bridges, but no switch
bool has_no_nvlink(const std::string& gpu_name);

// Among groups of ranks that differ, the smallest is named; if several are smallest, all of them.
// Call it for each group in turn.
void name_fewer(const std::vector<int>& group, std::vector<int>& named);

// Old NCCL logs give numbers instead of names. Their meaning depends on the version.
bool is_named(const ChosenAlgorithm& one);

// The trial stopped before any cell had its own result; then all cells have the trial's.
bool ended_before_its_cells(const SmokeTest& smoke_test);
Symptom symptom_of(model::OutcomeKind kind);

// Launched from a CUDA graph.
bool is_graph(const SmokeTestCell& cell);

// NVLink between hosts: whether the GPU reports a cluster, and how many channels give processes on
// this host access to other hosts' GPU memory.
inline constexpr std::string_view k_imex_channels = "/dev/nvidia-caps-imex-channels";
bool in_cluster(const model::GpuHealth& gpu);
// Whether the GPU reports that it joins an NVSwitch fabric, and its state.
bool tells_fabric_state(const model::GpuHealth& gpu);
std::size_t count_imex_channels(const model::DriverSurvey& driver);

// The inputs for judging values of NCCL's variables, for the ranks of this survey.
workload::NcclPlace nccl_place(const Case& one, const model::Survey& survey);

int count_hosts(const Case& one);
// "ranks 2,3 on beta"; the host only if there are several.
std::string ranks_with_host(const Case& one, const std::vector<int>& ranks);

// "00000000:3B:00.0" and "0000:3b:00.0" are one GPU.
bool same_pci(const std::string& one, const std::string& other);

} // namespace ncclprobe::analysis::doctor
