// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/link_health.h"

using namespace ncclprobe::topology;

namespace {

const char* const k_board = "NVIDIA H100 80GB HBM3"; // 18 links to NVSwitches
const char* const k_card = "NVIDIA A40";             // bridges
const char* const k_new_model = "NVIDIA X1";         // nothing is published of it

NvLinkState first(const std::vector<NvLinkCount>& gpus, bool has_nvswitches) {
  return nvlink_health(gpus, has_nvswitches).front().state;
}

} // namespace

TEST_CASE("NVLinks are as expected if all are up, or none that anybody expects") {
  CHECK(first({{k_board, 18, 18}, {k_board, 18, 18}}, true) == NvLinkState::as_expected);
  CHECK(first({{k_board, 18, 0}}, true) == NvLinkState::as_expected); // given without its links
  CHECK(first({{k_card, 4, 0}, {k_card, 4, 0}}, false) == NvLinkState::as_expected);
  CHECK(first({{k_card, std::nullopt, 4}}, false) == NvLinkState::untold);
}

TEST_CASE("NVLinks are down where some are, or fewer than elsewhere or than published") {
  CHECK(first({{k_board, 18, 17}, {k_board, 18, 18}}, true) == NvLinkState::down);
  CHECK(first({{k_new_model, 4, 0}, {k_new_model, 4, 4}}, false) == NvLinkState::down);

  auto none = nvlink_health({{k_board, 18, 0}, {k_board, 18, 0}}, true);
  CHECK(none[1].state == NvLinkState::down);
  CHECK(none[1].published == 18);
  CHECK_FALSE(none[1].elsewhere);
  CHECK(nvlink_health({{k_board, 18, 17}, {k_board, 18, 18}}, true)[0].elsewhere == 18);
}

TEST_CASE("cards that all have the same part of their links may lack bridges") {
  CHECK(first({{k_card, 4, 2}, {k_card, 4, 2}}, false) == NvLinkState::bridged);
  CHECK(first({{k_card, 4, 2}, {k_card, 4, 2}}, true) == NvLinkState::down);
  CHECK(first({{k_card, 4, 2}, {k_card, 4, 4}}, false) == NvLinkState::down);
  CHECK(first({{k_board, 18, 9}, {k_board, 18, 9}}, false) == NvLinkState::down);
}

TEST_CASE("a PCIe link may be slow while idle, but not narrow") {
  CHECK(pcie_state({4, 4, 16, 16}, Load::idle) == PcieState::as_expected);
  CHECK(pcie_state({1, 4, 16, 16}, Load::idle) == PcieState::idle);
  CHECK(pcie_state({1, 4, 16, 16}, Load::busy) == PcieState::slow);
  CHECK(pcie_state({1, 4, 8, 16}, Load::idle) == PcieState::narrow);
  CHECK(pcie_state({}, Load::busy) == PcieState::as_expected);
}
