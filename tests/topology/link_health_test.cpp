// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/link_health.h"

using namespace ncclprobe::topology;

namespace {

const char* const k_board = "NVIDIA H100 80GB HBM3"; // 18 links to NVSwitches
const char* const k_card = "NVIDIA A40";             // bridges
const char* const k_new_model = "NVIDIA X1";         // nothing is published of it

NvLinkHealth first(const std::vector<NvLinkCount>& gpus, bool has_nvswitches = false) {
  return nvlink_health(gpus, has_nvswitches).front();
}

// Of two such GPUs.
NvLinkState pair(const NvLinkCount& gpu, bool has_nvswitches = false) {
  return first({gpu, gpu}, has_nvswitches).state;
}

NvLinkCount with_mig(NvLinkCount gpu) {
  gpu.mig = true;
  return gpu;
}

} // namespace

TEST_CASE("NVLinks are as expected if all are up, or if there are none") {
  CHECK(pair({k_board, 18, 18}, true) == NvLinkState::as_expected);
  CHECK(pair({"Tesla T4", 0, 0}) == NvLinkState::as_expected);
  CHECK(first({{"Tesla T4", 0, 0}, {"NVIDIA A100-SXM4-80GB", 12, 12}}).state ==
        NvLinkState::as_expected);
  CHECK(first({{k_card, std::nullopt, 4}}).state == NvLinkState::untold);
}

TEST_CASE("none of several modules' links up is a fault, whatever NVSwitches can be seen") {
  for (auto [name, links] :
       {std::pair("NVIDIA H200", 18), std::pair("NVIDIA H100 80GB HBM3", 18),
        std::pair("NVIDIA A100-SXM4-40GB", 12), std::pair("Tesla V100-SXM2-16GB", 6),
        std::pair("Tesla V100-SXM2-32GB", 6), std::pair("NVIDIA B200", 18)}) {
    INFO(name);
    CHECK(pair({name, links, 0}) == NvLinkState::down);
  }
  CHECK(first({{"NVIDIA H200", 18, 0}, {"NVIDIA H200", 18, 0}}).text() == "0 of 18 NVLinks are up");
  CHECK(first({{"NVIDIA H200", 16, 0}, {"NVIDIA H200", 16, 0}}).text() ==
        "0 of 16 NVLinks are up; this model has 18");
  NvLinkCount by_id{k_new_model, 18, 0};
  by_id.pci_device_id = 0x2335; // H200
  CHECK(pair(by_id) == NvLinkState::down);
  CHECK(pair({k_new_model, 18, 0}, true) == NvLinkState::down);
  NvLinkCount in_fabric{k_new_model, 18, 0};
  in_fabric.in_fabric = true;
  CHECK(pair(in_fabric) == NvLinkState::down);
}

TEST_CASE("none of a GPU's links up is undecided where it may be well") {
  for (const char* name : {"NVIDIA H200 NVL", "NVIDIA H100 NVL", "NVIDIA H100 PCIe",
                           "NVIDIA A100-PCIE-40GB", "NVIDIA A40", "NVIDIA X1"}) {
    INFO(name);
    CHECK(pair({name, 4, 0}) == NvLinkState::undecided);
  }
  CHECK(first({{k_card, 4, 0}, {k_card, 4, 4}}).state == NvLinkState::undecided); // no bridge
  CHECK(first({{"NVIDIA H200", 18, 0}}).state == NvLinkState::undecided);         // alone
  CHECK_THAT(first({{"NVIDIA H200", 18, 0}}).text(),
             Catch::Matchers::StartsWith("0 of 18 NVLinks are up") &&
                 ContainsSubstring("no other GPU is visible"));
  CHECK(pair(with_mig({"NVIDIA H200", 18, 0})) == NvLinkState::undecided);
  CHECK(first({{"NVIDIA H200", 18, 0}, with_mig({"NVIDIA H200", 18, 0})}).state ==
        NvLinkState::undecided);
}

TEST_CASE("NVLinks are down where some are, or fewer than elsewhere or than published") {
  CHECK(first({{k_board, 18, 17}, {k_board, 18, 18}}, true).state == NvLinkState::down);
  CHECK(first({{k_new_model, 4, 0}, {k_new_model, 4, 4}}).state == NvLinkState::down);

  auto none = nvlink_health({{k_board, 18, 0}, {k_board, 18, 0}}, true);
  CHECK(none[1].state == NvLinkState::down);
  CHECK(none[1].published == 18);
  CHECK_FALSE(none[1].elsewhere);
  CHECK(nvlink_health({{k_board, 18, 17}, {k_board, 18, 18}}, true)[0].elsewhere == 18);
  CHECK(first({{"NVIDIA H200", 0, 0}, {"NVIDIA H200", 0, 0}}).text() ==
        "it reports no NVLink; this model has 18");
}

TEST_CASE("cards that all have the same part of their links may lack bridges") {
  CHECK(pair({k_card, 4, 2}) == NvLinkState::bridged);
  CHECK(pair({k_card, 4, 2}, true) == NvLinkState::down);
  CHECK(first({{k_card, 4, 2}, {k_card, 4, 4}}).state == NvLinkState::down);
  CHECK(pair({k_board, 18, 9}) == NvLinkState::down);
}

TEST_CASE("a PCIe link may be slow while idle, but not narrow") {
  CHECK(pcie_state({4, 4, 16, 16}, Load::idle) == PcieState::as_expected);
  CHECK(pcie_state({1, 4, 16, 16}, Load::idle) == PcieState::idle);
  CHECK(pcie_state({1, 4, 16, 16}, Load::busy) == PcieState::slow);
  CHECK(pcie_state({1, 4, 8, 16}, Load::idle) == PcieState::narrow);
  CHECK(pcie_state({}, Load::busy) == PcieState::as_expected);
}
