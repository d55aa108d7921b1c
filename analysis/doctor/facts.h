// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/finding.h"
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

// What several checks read out of a survey.
namespace ncclprobe::analysis::doctor {

// "580.95.05" of the library entry "580.95.05 (CUDA 13.0)"; empty without a driver.
std::string driver_version(const model::Survey& survey);
// "13.0" of the same entry: the newest CUDA that the driver knows.
std::string driver_cuda_version(const model::Survey& survey);
// What the tables know of the GPUs of its host, equal ones once. None if the driver tells no
// compute capability of one that they do not know.
std::vector<GpuInQuestion> gpus_in_question(const model::Survey& survey);
// "GPU 3 (0000:3b:00.0)"
std::string gpu_label(const model::GpuHealth& gpu);
// "generation 3 x16, at most generation 5 x16", each a "?" where it was not told.
std::string pcie_text(const model::GpuHealth& gpu);
topology::PcieState pcie_state(const model::GpuHealth& gpu, topology::Load load);

// "?" for what was not told: a 0 would be a lie.
template <typename T>
std::string shown(const std::optional<T>& value) {
  return value ? std::to_string(*value) : "?";
}
std::string shown_watts(const std::optional<int>& milliwatts);

// A check that found nothing may only say "ok" if all that it rests on was told. Adds a line that
// names what was not, if there is any.
struct Fact {
  const char* name;
  bool told;
};
void note_untold(const model::GpuHealth& gpu, std::initializer_list<Fact> facts,
                 std::vector<std::string>& lines);

// By what is published of this model, whatever of several a name can mean; unknown models are none
// of these.
bool is_pcie_card(const std::string& gpu_name); // which may have NVLink bridges, but no switch
bool has_no_nvlink(const std::string& gpu_name);

// Of groups of ranks that differ the smallest is the one to name; of equals, all. Call it for each
// group in turn.
void name_fewer(const std::vector<int>& group, std::vector<int>& named);

// Before names NCCL's log had numbers, which mean other algorithms in other versions.
bool is_named(const ChosenAlgorithm& one);

// Stopped before any of its cells had a result of its own: then all cells have the trial's.
bool ended_before_its_cells(const SmokeTest& smoke_test);
Symptom symptom_of(model::OutcomeKind kind);

// Launched from a CUDA graph.
bool is_graph(const SmokeTestCell& cell);

// NVLink between hosts: whether the GPU says that it is of a cluster, and through how many channels
// processes of the host may reach the memory of others.
inline constexpr std::string_view k_imex_channels = "/dev/nvidia-caps-imex-channels";
bool in_cluster(const model::GpuHealth& gpu);
// Whether the GPU is one that joins NVSwitches' fabric, and says how far it is.
bool tells_fabric_state(const model::GpuHealth& gpu);
std::size_t count_imex_channels(const model::DriverSurvey& driver);

// What the values of NCCL's variables are judged by, of the ranks of this survey.
workload::NcclPlace nccl_place(const Case& one, const model::Survey& survey);

int count_hosts(const Case& one);
// "rank(s) 2,3 on beta"; the host only where there are several.
std::string ranks_with_host(const Case& one, const std::vector<int>& ranks);

// "00000000:3B:00.0" and "0000:3b:00.0" are one GPU.
bool same_pci(const std::string& one, const std::string& other);

} // namespace ncclprobe::analysis::doctor
