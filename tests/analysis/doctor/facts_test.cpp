// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Missing values, and the known data of a GPU's model, as the hardware checks use them.
#include "patient.h"

#include "analysis/doctor/facts.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::what;
using test_doctor::worst;

TEST_CASE("GPUs of which nothing could be read are unknown in every respect, and it is told what") {
  Case one = healthy_case();
  for (model::GpuHealth& gpu : one.surveys[0].health) {
    model::GpuHealth bare;
    bare.index = gpu.index;
    bare.uuid = gpu.uuid;
    gpu = bare;
  }
  one.surveys[0].host->driver.nvswitches = 0;
  one.surveys[0].host->driver.services.clear();

  for (const char* id : {"D09", "D11", "D12", "D22", "D33"}) {
    INFO(id);
    for (const CheckResult& finding : found(one, id))
      CHECK(finding.status == CheckStatus::unknown);
    CHECK(worst(one, id) == CheckStatus::unknown);
  }
  CHECK_THAT(found(one, "D11").front().evidence.front(),
             ContainsSubstring("GPU 0: uncorrected memory errors, remapped rows"));
  CHECK_THAT(found(one, "D12").front().evidence.at(1), ContainsSubstring("GPU 1: NVLinks, PCIe"));
}

TEST_CASE("one fact that was not told is enough not to be well") {
  Case one = healthy_case();
  one.surveys[0].health[1].throttle_reasons.reset();
  one.surveys[0].health[1].pcie_width.reset();
  one.surveys[0].health[1].uncorrected_since_reset.reset();

  for (const char* id : {"D11", "D12", "D22"}) {
    auto findings = found(one, id);
    REQUIRE(findings.size() == 1);
    CHECK(findings.front().status == CheckStatus::unknown);
    REQUIRE(findings.front().evidence.size() == 1);
    CHECK_THAT(findings.front().evidence.front(), ContainsSubstring("GPU 1"));
  }
}

TEST_CASE("a card without NVLink lacks neither links nor fabric") {
  Case one = healthy_case();
  for (model::GpuHealth& gpu : one.surveys[0].health) {
    gpu.name = "Tesla T4";
    gpu.nvlinks.reset();
    gpu.active_nvlinks.reset();
    gpu.nvlink_errors.clear();
    gpu.fabric_state.clear();
  }
  one.surveys[0].host->driver.nvswitches = 0;

  CHECK(what(one, "D09").kind == "fabric_not_needed");
  CHECK(what(one, "D11").kind == "gpus_healthy");
  CHECK(what(one, "D12").kind == "pcie_right");
}

TEST_CASE("cards joined by some of the possible bridges are information, unlike ones are broken") {
  Case one = healthy_case();
  one.surveys[0].host->driver.nvswitches = 0;
  for (model::GpuHealth& gpu : one.surveys[0].health) {
    gpu.name = "NVIDIA A100-PCIE-40GB";
    gpu.nvlinks = 12;
    gpu.active_nvlinks = 4;
    gpu.fabric_state.clear();
  }
  CHECK(worst(one, "D12") == CheckStatus::info);

  one.surveys[0].host->driver.nvswitches = 6;
  CHECK(worst(one, "D12") == CheckStatus::fail);

  one.surveys[0].host->driver.nvswitches = 0;
  one.surveys[0].health[1].active_nvlinks = 8;
  CHECK(worst(one, "D12") == CheckStatus::fail);
}

TEST_CASE("a fabric manager that is missing is not also said not to be needed") {
  Case one = healthy_case();
  one.surveys[0].host->driver.services = {"nvidia-persistenced"};
  for (model::GpuHealth& gpu : one.surveys[0].health)
    gpu.fabric_state = "not_supported";

  REQUIRE(found(one, "D09").size() == 1);
  CHECK(worst(one, "D09") == CheckStatus::fail);

  one.surveys[0].host->driver.services = {"nv-fabricmanager"};
  CHECK(what(one, "D09").kind == "fabric_manager_runs");
}

TEST_CASE("what was not told is shown as such, never as 0") {
  Case one = healthy_case();
  model::GpuHealth& gpu = one.surveys[0].health[0];
  gpu.throttle_reasons = 0x40;
  gpu.sm_clock_mhz.reset();
  gpu.power_mw.reset();
  gpu.temperature_c.reset();
  CHECK_THAT(found(one, "D22").front().evidence.front(),
             ContainsSubstring("(? of 1980 MHz, ? W of 700 W, ? C)"));

  gpu.pcie_width = 8;
  gpu.pcie_generation.reset();
  CHECK_THAT(found(one, "D12").front().evidence.front(),
             ContainsSubstring("generation ? x8, at most generation 5 x16"));

  gpu.fabric_state = "in_progress";
  gpu.fabric_status.reset();
  CHECK_THAT(found(one, "D09").front().evidence.front(), ContainsSubstring("status ?"));
}

TEST_CASE("a repair names the GPUs that it is for, once for all of a host") {
  Case one = healthy_case();
  for (model::GpuHealth& gpu : one.surveys[0].health)
    gpu.throttle_reasons = 0x2;
  one.surveys[0].health[1].remap_pending = true;

  auto clocks = found(one, "D22");
  REQUIRE(clocks.size() == 1);
  CHECK(clocks.front().evidence.size() == 2);
  CHECK(clocks.front().fix.text == "nvidia-smi -i 0,1 -rac (administrator)");
  CHECK(test_doctor::value(found(one, "D11").front().what, "gpus") == "1");
}

TEST_CASE("receive errors of NVLink 5 are not called CRC errors") {
  Case one = healthy_case();
  model::NvLinkErrors errors;
  errors.recoveries = 1;
  errors.receive_errors = 7;
  one.surveys[0].health[0].nvlink_errors = {errors};

  std::string seen = found(one, "D11").front().evidence.front();
  CHECK_THAT(seen, ContainsSubstring("1 recoveries, 7 receive errors on 1 link since"));
}
