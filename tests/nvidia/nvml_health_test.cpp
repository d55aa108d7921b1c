// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/factory.h"
#include "nvidia/nvml_health.h"
#include "support/catch.h"

using namespace ncclprobe;

namespace {

backend::Options with_health_from(const char* library) {
  backend::Options options;
  options.libraries.push_back({"nvml", library});
  return options;
}

std::vector<model::GpuHealth> health_told_by(const char* library) {
  return nvidia::read_health(nvidia::NvmlLibrary(with_health_from(library)));
}

} // namespace

TEST_CASE("a GPU that is well has zeros, which are not unknown") {
  auto health = health_told_by(FAKE_NVML);

  REQUIRE(health.size() == 3);
  const model::GpuHealth& well = health[0];
  CHECK(well.pci_bus_id == "00000000:1B:00.0");
  CHECK(well.vbios == "96.00.a5.00.01");
  CHECK(well.uncorrected_since_reset == 0U);
  CHECK(well.remap_pending == false);
  CHECK(well.throttle_reasons == 1U);
  CHECK(well.compute_mode == "default");
  REQUIRE(well.processes);
  CHECK(well.processes->empty());
  CHECK(well.nvlinks == 18);
  CHECK(well.active_nvlinks == 18);
  CHECK(well.fabric_state == "completed");
  CHECK_FALSE(well.retired_pages); // "not supported": its generation remaps rows
}

TEST_CASE("errors, remapped rows, processes and links of an ill GPU are told") {
  auto health = health_told_by(FAKE_NVML);

  REQUIRE(health.size() == 3);
  const model::GpuHealth& ill = health[1];
  CHECK(ill.corrected_since_reset == 1U);
  CHECK(ill.corrected_ever == 2U);
  CHECK(ill.uncorrected_since_reset == 11U);
  CHECK(ill.uncorrected_ever == 12U);
  CHECK(ill.retired_pages == 2);
  CHECK(ill.remapped_rows_uncorrected == 4);
  CHECK(ill.remap_pending == true);
  CHECK(ill.throttle_reasons == 0x40U);
  CHECK(ill.compute_mode == "exclusive_process");
  REQUIRE(ill.processes);
  CHECK(*ill.processes ==
        std::vector<model::GpuProcess>{{100, "python3", 1ULL << 30}, {101, "", {}}});
  CHECK(ill.active_nvlinks == 17);
  CHECK(ill.nvlink_errors[2] == model::NvLinkErrors{2, 1U, 2U, 7U});
  CHECK(ill.pcie_width == 8);
  CHECK(ill.most_pcie_width == 16);
  CHECK(ill.fabric_health == 1U);
  CHECK(ill.ecc_on == false);
  CHECK(ill.ecc_on_after_reset == true);
}

TEST_CASE("what a GPU does not answer is unknown, not zero") {
  auto health = health_told_by(FAKE_NVML);

  REQUIRE(health.size() == 3);
  const model::GpuHealth& silent = health[2];
  CHECK_FALSE(silent.uncorrected_since_reset);
  CHECK_FALSE(silent.remap_pending);
  CHECK_FALSE(silent.throttle_reasons);
  CHECK_FALSE(silent.processes);
  CHECK(silent.nvlinks == 0); // "not supported" is an answer, and the map says the same
  CHECK(silent.fabric_state.empty());
}

TEST_CASE("an old driver that has none of these functions tells nothing, and says so") {
  model::Survey survey;

  nvidia::examine_health(survey, with_health_from(FAKE_NVML_OLD));

  CHECK(survey.health.empty());
  CHECK(survey.health_problem == "NVML knows no GPU");
}

TEST_CASE("without NVML there is a reason instead of health") {
  model::Survey survey;

  nvidia::examine_health(survey, with_health_from("/nonexistent/libnvidia-ml.so.1"));

  CHECK(survey.health.empty());
  CHECK_THAT(survey.health_problem, ContainsSubstring("NVML"));
}

TEST_CASE("what a GPU's links carry is told as far as NVML tells it") {
  nvidia::NvmlLibrary nvml(with_health_from(FAKE_NVML));
  model::Condition with_links, with_nothing, by_old_driver;

  nvml.read_traffic("0000:1b:00.0", with_links);
  nvml.read_traffic("0000:ff:00.0", with_nothing);
  nvidia::NvmlLibrary(with_health_from(FAKE_NVML_OLD)).read_traffic("0000:1b:00.0", by_old_driver);

  CHECK(with_links.nvlink_sent_bytes == 138U * 1024);
  CHECK(with_links.nvlink_received_bytes == 139U * 1024);
  CHECK(with_links.pcie_sent_mb_per_s == 55'000);
  CHECK(with_links.pcie_received_mb_per_s == 0);
  CHECK(with_nothing == model::Condition{});
  CHECK(by_old_driver == model::Condition{});
}

TEST_CASE("the energy that a GPU used is read where NVML counts it") {
  nvidia::NvmlLibrary nvml(with_health_from(FAKE_NVML));

  CHECK(nvml.condition("00000000:1B:00.0")->energy_mj == 5'000'000'000'000U);
  CHECK_FALSE(nvml.condition("00000000:9A:00.0")->energy_mj); // "not supported"
}

TEST_CASE("a reading of a cell tells how many processes and errors there are") {
  nvidia::NvmlLibrary nvml(with_health_from(FAKE_NVML));
  model::Condition well;
  model::Condition ill;
  model::Condition silent;

  nvml.read_company("00000000:1B:00.0", well);
  nvml.read_company("00000000:43:00.0", ill);
  nvml.read_company("00000000:9A:00.0", silent);

  CHECK(well.processes == 0);
  CHECK(well.uncorrected_errors == 0U);
  CHECK(ill.processes == 2);
  CHECK(ill.corrected_errors == 1U);
  CHECK(ill.uncorrected_errors == 11U);
  CHECK_FALSE(silent.processes);
  CHECK_FALSE(silent.corrected_errors);
}

TEST_CASE("clients of MPS are counted once, and its server is none") {
  nvidia::NvmlLibrary nvml(with_health_from(FAKE_NVML_MPS));
  model::Condition shared;
  model::Condition unshared;

  nvml.read_company("00000000:43:00.0", shared);
  nvml.read_company("00000000:1B:00.0", unshared);

  CHECK(shared.processes == 2); // 101 and 102; 100 is the server
  CHECK(unshared.processes == 0);
}
