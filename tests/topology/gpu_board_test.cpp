// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/gpu_board.h"

using namespace ncclprobe::topology;

namespace {

GpuBoard board_of(const char* name, std::optional<int> links = std::nullopt) {
  return gpu_mounting({name, std::nullopt, links, false}).board;
}

} // namespace

TEST_CASE("the driver's name tells modules from cards") {
  CHECK(board_of("NVIDIA H200") == GpuBoard::module);
  CHECK(board_of("NVIDIA H200 NVL") == GpuBoard::card);
  CHECK(board_of("NVIDIA H100 80GB HBM3") == GpuBoard::module);
  CHECK(board_of("NVIDIA H100 PCIe") == GpuBoard::card);
  CHECK(board_of("NVIDIA A100-SXM4-80GB") == GpuBoard::module);
  CHECK(board_of("NVIDIA A100 80GB PCIe") == GpuBoard::card);
  CHECK(board_of("Tesla V100-SXM2-32GB") == GpuBoard::module);
  CHECK(board_of("Tesla V100-PCIE-16GB") == GpuBoard::card);
  CHECK(board_of("NVIDIA X1") == GpuBoard::unknown);
  CHECK(board_of("") == GpuBoard::unknown);
}

TEST_CASE("a name that fits both is decided by links or PCI id, or not at all") {
  CHECK(board_of("A100") == GpuBoard::unknown);
  CHECK(board_of("H100") == GpuBoard::unknown);
  CHECK(board_of("NVIDIA H800", 18) == GpuBoard::module);
  CHECK(gpu_mounting({"A100", 0x20b2, 12, false}).board == GpuBoard::module);
  CHECK(gpu_mounting({"A100", 0x20b5, 12, false}).board == GpuBoard::card);
  CHECK(gpu_mounting({"X1", std::nullopt, 18, true}).board == GpuBoard::module);
}

TEST_CASE("models without NVLink are known by name or PCI id") {
  CHECK(gpu_mounting({"Tesla T4"}).never_has_nvlinks);
  CHECK(gpu_mounting({"", 0x1eb8}).never_has_nvlinks);
  CHECK_FALSE(gpu_mounting({"NVIDIA A40"}).never_has_nvlinks);
  CHECK_FALSE(gpu_mounting({"NVIDIA X1"}).never_has_nvlinks);
}

TEST_CASE("published links are those that every GPU of the model uses") {
  CHECK(gpu_mounting({"NVIDIA H200", std::nullopt, 18, false}).published_links == 18);
  CHECK_FALSE(gpu_mounting({"NVIDIA H200 NVL", std::nullopt, 18, false}).published_links);
  CHECK_FALSE(gpu_mounting({"Tesla V100-SXM2-16GB", std::nullopt, 6, false}).published_links);
}
