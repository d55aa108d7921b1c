// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "patient.h"

#include <algorithm>

namespace ncclprobe::test_doctor {

using namespace analysis::doctor;

namespace {

model::Survey rank_survey(int rank) {
  model::Survey survey;
  survey.ranks = {rank};
  survey.mpi = "Open MPI v4.1.4";
  survey.ncclprobe = "0.1.0 build 000000000000";
  survey.taken_utc = "2026-03-01T12:34:56Z";
  model::HostInventory& host = survey.inventory;
  host.hostname = "node01";
  host.boot_id = "boot-1";
  host.cpus_allowed = 16;
  host.memory_bytes = std::uint64_t{256} << 30;
  host.worker_version =
      "ncclprobe-worker 0.1.0, nvidia backend: CUDA 13.0.88, architectures 80,90,100+PTX";
  for (int i = 0; i < 2; ++i)
    host.gpus.push_back({i, "NVIDIA H200", "GPU-" + std::to_string(i),
                         "0000:" + std::to_string(i + 3) + "b:00.0", "9.0",
                         std::uint64_t{141} << 30, std::uint64_t{140} << 30, 132, 18, "default"});
  host.libraries = {{"cuda_driver", "580.95.05 (CUDA 13.0)", "/usr/lib/libcuda.so.580.95.05", ""},
                    {"cuda_runtime", "13.0", "/opt/ncclprobe/ncclprobe-worker", ""},
                    {"nccl", "2.28.3", "/usr/lib/libnccl.so.2.28.3", ""},
                    {"nvml", "13.580.95.05", "/usr/lib/libnvidia-ml.so.580.95.05", ""},
                    {"cupti", "130001", "/usr/lib/libcupti.so.13", ""},
                    {"gloo", "0.5.0", "/lib/libgloo.so.0", ""}};
  survey.process.libraries = {{"/usr/lib/libcuda.so.580.95.05", "libcuda.so.1", "", false},
                              {"/usr/lib/libnccl.so.2.28.3", "libnccl.so.2", "", false}};
  survey.process.limits = {{"memlock", std::nullopt, std::nullopt},
                           {"nofile", 1048576U, 1048576U},
                           {"stack", 8388608U, std::nullopt}};
  survey.process.confinement.numa_calls_allowed = true;
  for (int cpu = 0; cpu < 16; ++cpu)
    survey.process.cpus_allowed.push_back(cpu);
  return survey;
}

model::GpuHealth healthy_gpu(int index) {
  model::GpuHealth gpu;
  gpu.index = index;
  gpu.name = "NVIDIA H200";
  gpu.uuid = "GPU-" + std::to_string(index);
  gpu.pci_bus_id = "00000000:" + std::to_string(index + 3) + "B:00.0";
  gpu.ecc_on = gpu.ecc_on_after_reset = true;
  gpu.corrected_since_reset = gpu.uncorrected_since_reset = 0;
  gpu.corrected_ever = gpu.uncorrected_ever = 0;
  gpu.remapped_rows_corrected = gpu.remapped_rows_uncorrected = 0;
  gpu.remap_pending = gpu.remap_failed = false;
  gpu.throttle_reasons = 1;
  gpu.sm_clock_mhz = 345;
  gpu.most_sm_clock_mhz = 1980;
  gpu.temperature_c = 31;
  gpu.power_mw = 76'000;
  gpu.power_limit_mw = gpu.default_power_limit_mw = 700'000;
  gpu.persistence = true;
  gpu.compute_mode = "default";
  gpu.mig = false;
  gpu.processes.emplace();
  gpu.mps_clients = false;
  gpu.pcie_generation = gpu.most_pcie_generation = 5;
  gpu.pcie_width = gpu.most_pcie_width = 16;
  gpu.pcie_replays = 0;
  gpu.nvlinks = gpu.active_nvlinks = 18;
  gpu.nvlink_errors = {{0, 0U, 0U, 0U}};
  gpu.fabric_state = "completed";
  gpu.fabric_status = 0;
  gpu.fabric_health = 0b10;
  gpu.multicast = true;
  return gpu;
}

model::HostSurvey healthy_host() {
  model::HostSurvey host;
  host.shared_memory = {std::uint64_t{64} << 30, std::uint64_t{60} << 30, {}};
  host.pci.bridges = {{"0000:3a:00.0", false}};
  host.driver.module_version = "580.95.05";
  host.driver.flavour = "open";
  host.driver.services = {"nv-fabricmanager", "nvidia-persistenced"};
  host.driver.fabric_manager_version = "580.95.05";
  host.driver.device_files = {"/dev/nvidia0", "/dev/nvidia-uvm", "/dev/nvidiactl",
                              "/dev/infiniband/uverbs0"};
  host.driver.modules = {{"nvidia", "580.95.05"}, {"nvidia_peermem", "580.95.05"}};
  host.driver.nvidia_pci_devices = 2;
  host.driver.nvswitches = 4;
  host.interfaces = {{"lo", true, true, true, {}, 65536, {"127.0.0.1", "::1"}},
                     {"eth0", true, true, false, 25000, 1500, {"192.0.2.2"}}};
  host.rdma = {{"mlx5_0", 1, "ACTIVE", "400 Gb/sec (4X NDR)", "InfiniBand", 1}};
  host.kernel_log.source = "/dev/kmsg";
  return host;
}

SmokeTestCell right_cell(model::DataType type, model::Launch launch = model::Launch::direct) {
  SmokeTestCell cell;
  cell.label.bytes = 8 << 20;
  cell.label.type = type;
  cell.label.what = model::CollectiveLabel{.launch = launch};
  cell.elements = 2 << 20;
  return cell;
}

} // namespace

Case healthy_case() {
  Case one;
  one.ncclprobe = "0.1.0 build 000000000000";
  one.backend = "nvidia";
  one.backend_reason = "every host has usable GPUs";
  one.surveys = {rank_survey(0), rank_survey(1)};
  one.surveys[0].host = healthy_host();
  one.surveys[0].health = {healthy_gpu(0), healthy_gpu(1)};
  SmokeTest all{"all ranks", "nvidia", 2, {}, {}, {}};
  all.cells = {right_cell(model::DataType::f32), right_cell(model::DataType::bf16),
               right_cell(model::DataType::f8e4m3),
               right_cell(model::DataType::f32, model::Launch::graph)};
  one.smoke_tests = {all};
  return one;
}

Case healthy_cpu_case() {
  Case one = healthy_case();
  one.backend = "host";
  one.surveys.resize(1);
  model::Survey& survey = one.surveys[0];
  survey.ranks = {0, 1};
  survey.mpi.clear();
  survey.inventory.gpus.clear();
  survey.inventory.nvidia_problem = "no NVIDIA driver";
  survey.inventory.libraries = {{"gloo", "0.5.0", "/lib/libgloo.so.0", ""}};
  survey.process.libraries.clear();
  survey.health.clear();
  survey.health_problem = "NVML not found";
  survey.host->driver = {};
  survey.host->rdma.clear();
  one.smoke_tests[0].backend = "host";
  one.smoke_tests[0].cells.pop_back();
  return one;
}

Case joined_case(const std::string& transport) {
  Case one = healthy_case();
  topology::Host host;
  for (int i = 0; i < 2; ++i) {
    topology::Gpu& gpu = host.gpus.emplace_back();
    gpu.index = i;
    gpu.bus_id = {"0000:0" + std::to_string(i + 1) + ":00.0", topology::Source::nvml};
    topology::NvLink link;
    link.remote = {topology::RemoteKind::nvswitch, topology::Source::nvml};
    link.active = {true, topology::Source::nvml};
    gpu.nvlinks = {std::vector<topology::NvLink>(18, link), topology::Source::nvml};
  }
  for (model::Survey& survey : one.surveys)
    survey.inventory.topology = host;
  one.smoke_tests[0].transports = {{0, 1, "0", "1", transport}, {1, 0, "1", "0", transport}};
  return one;
}

std::vector<CheckResult> found(const Case& one, const std::string& id) {
  std::vector<CheckResult> all = examine(one);
  std::erase_if(all, [&](const CheckResult& finding) { return finding.id != id; });
  return all;
}

CheckStatus worst(const Case& one, const std::string& id) {
  return analysis::doctor::worst(found(one, id));
}

What what(const Case& one, const std::string& id) {
  std::vector<CheckResult> all = found(one, id);
  return all.empty() ? What() : all.front().what;
}

std::string value(const What& what, std::string_view name) {
  for (const auto& [known, value] : what.values)
    if (known == name)
      return shown(value);
  return "-";
}

} // namespace ncclprobe::test_doctor
