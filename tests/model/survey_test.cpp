// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/document.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;

namespace {

model::Survey whole_survey() {
  model::Survey survey;
  survey.ranks = {0, 3};
  survey.mpi = "Open MPI v4.1.4";
  survey.inventory.hostname = "node01";
  survey.process.environment = {{"NCCL_DEBUG", "INFO"}};
  survey.process.libraries = {{"/a/libnccl.so.2.28.3", "libnccl.so.2", "$ORIGIN", true}};
  survey.process.limits = {{"memlock", std::nullopt, 65536U}};
  survey.process.confinement.cpus = 2.5;
  survey.process.confinement.numa_calls_allowed = false;
  survey.process.cpus_allowed = {0, 1, 7};
  model::HostSurvey& host = survey.host.emplace();
  host.shared_memory = {1 << 30, 1 << 29, {{"nccl-x", 9, 60, 1000}}};
  host.pci = {{{"0000:3a:00.0", true}, {"0000:3b:00.0", std::nullopt}},
              7,
              {{"DMA-FQ", {"0000:3b:00.0"}}},
              "iommu=pt",
              "QEMU"};
  host.driver.modules = {{"nvidia", "580.95.05"}};
  host.interfaces = {{"eth0", true, true, false, 25000, 1500, {"192.0.2.2"}}};
  host.rdma = {{"mlx5_0", 1, "ACTIVE", "400 Gb/sec", "InfiniBand", 3}};
  host.kernel_log = {"/dev/kmsg", "", {{79, "0000:3b:00", "NVRM: Xid", 3600}}, 7200};
  host.nccl_files = {{"/etc/nccl.conf", {{"NCCL_ALGO", "Ring"}}}};
  model::GpuHealth& gpu = survey.health.emplace_back();
  gpu.ecc_on = true;
  gpu.processes = {{42, "python3", 1U << 20}};
  gpu.nvlink_errors = {{3, 1U, std::nullopt, 0U}};
  gpu.fabric_health = 2U;
  gpu.multicast = true;
  return survey;
}

} // namespace

TEST_CASE("a survey survives being written and read, absent values as absent") {
  model::Survey survey = whole_survey();

  auto again = model::parse_json<model::Survey>(model::write_json(survey));

  REQUIRE(again);
  CHECK(*again == survey);
}

TEST_CASE("a survey of a version that knew less is read") {
  nlohmann::json old = nlohmann::json::parse(model::write_json(whole_survey()));
  old["process"].erase("confinement");
  old["host"]["driver"].erase("flavour");
  old["health"][0].erase("fabric_clique");
  old.erase("problem");

  auto again = model::parse_json<model::Survey>(old.dump());

  REQUIRE(again);
  CHECK(again->process.confinement == model::Confinement{});
  CHECK(again->host->kernel_log.xids.size() == 1);
}

TEST_CASE("variables that bear on communication are told from the rest") {
  for (const char* name : {"NCCL_ALGO", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "UCX_TLS"})
    CHECK(model::bears_on_communication(name));
  for (const char* name : {"HOME", "AWS_SECRET_ACCESS_KEY", "MY_NCCL_ALGO", ""})
    CHECK_FALSE(model::bears_on_communication(name));
}

TEST_CASE("a variable of the process is found by its name") {
  model::Survey survey = whole_survey();

  REQUIRE(survey.variable("NCCL_DEBUG") != nullptr);
  CHECK(survey.variable("NCCL_DEBUG")->value == "INFO");
  CHECK(survey.variable("NCCL_ALGO") == nullptr);
}
