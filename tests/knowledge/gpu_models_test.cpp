// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/gpu_models.h"
#include "support/catch.h"

namespace ncclprobe::knowledge {
namespace {

std::string best_name(std::string_view asked) {
  auto found = find_gpu_models(asked);
  return found.empty() ? "" : found.front()->name;
}

} // namespace

TEST_CASE("models are found by the names that drivers and people use") {
  CHECK(best_name("T4") == "T4");
  CHECK(best_name("Tesla T4") == "T4");
  CHECK(best_name("NVIDIA A100-SXM4-80GB") == "A100 SXM4 80GB");
  CHECK(best_name("NVIDIA A100 80GB PCIe") == "A100 PCIe 80GB");
  CHECK(best_name("NVIDIA H100 80GB HBM3") == "H100 SXM5 80GB");
  CHECK(best_name("NVIDIA H200") == "H200 SXM5");
  CHECK(best_name("NVIDIA H200 NVL") == "H200 NVL");
  CHECK(best_name("NVIDIA L40S") == "L40S");
  CHECK(best_name("NVIDIA B200") == "B200 SXM");
  CHECK(best_name("NVIDIA B300 SXM6 AC") == "B300 SXM");
  CHECK(best_name("rtx4090") == "GeForce RTX 4090");
  CHECK(best_name("NVIDIA GeForce RTX 5090") == "GeForce RTX 5090");
  CHECK(best_name("Tesla V100-SXM2-32GB") == "Tesla V100 SXM2 32GB");
  CHECK(best_name("a10") == "A10");
  CHECK(best_name("NVIDIA RTX PRO 6000 Blackwell Server Edition") ==
        "RTX PRO 6000 Blackwell Server");
}

TEST_CASE("a name that leaves open which model it is gives all of them") {
  CHECK(find_gpu_models("A100").size() == 4);
  CHECK(find_gpu_models("T4").size() == 1);
}

TEST_CASE("what is no model is not taken for one") {
  for (const char* text : {"", "X9000", "80GB", "NVIDIA", "RTX 9999", "MI300X"}) {
    INFO(text);
    CHECK(find_gpu_models(text).empty());
  }
}

TEST_CASE("the facts that articles get wrong are right here") {
  CHECK(find_gpu_models("A100 SXM4 80GB").front()->capability == ComputeCapability{8, 0});
  CHECK(find_gpu_models("A800 SXM4 80GB").front()->capability == ComputeCapability{8, 0});
  CHECK(find_gpu_models("H800 SXM5 80GB").front()->capability == ComputeCapability{9, 0});
  CHECK(find_gpu_models("RTX 5090").front()->capability == ComputeCapability{12, 0});
  CHECK(find_gpu_models("RTX 3090").front()->capability == ComputeCapability{8, 6});
  // FP8 tensor cores begin with 8.9, TF32 with 8.0.
  CHECK(gpu_features({8, 9})->fp8 == true);
  CHECK(gpu_features({8, 6})->fp8 == false);
  CHECK(gpu_features({7, 5})->tf32 == false);
  CHECK(gpu_features({8, 0})->tf32 == true);
  CHECK(gpu_features({8, 0})->tensor_core_generation == "3rd gen");
}

TEST_CASE("what is not sourced stays unknown") {
  CHECK_FALSE(find_gpu_models("A10G").front()->memory_gb.has_value());
  CHECK_FALSE(find_gpu_models("Tesla V100 PCIe 16GB").front()->nvlink.has_value());
  CHECK_FALSE(find_gpu_models("T4").front()->nvlink->present);
  CHECK_FALSE(gpu_features({12, 0})->multicast.has_value());
  CHECK(gpu_features({99, 0}) == nullptr);
}

TEST_CASE("a model is found by its PCI device id") {
  REQUIRE(gpu_model_of_device("0x2335") != nullptr);
  CHECK(gpu_model_of_device("0x2335")->name == "H200 SXM5");
  CHECK(gpu_model_of_device("0x233510de") == gpu_model_of_device("2335"));
  CHECK(gpu_model_of_device("0xffff") == nullptr);
  CHECK(gpu_model_of_device("") == nullptr);
}

TEST_CASE("link rates are in one direction") {
  CHECK(nvlink_gb_per_s({9, 0}) == 25);
  CHECK(nvlink_gb_per_s({8, 6}) == 14.0625);
  CHECK(nvlink_gb_per_s({10, 0}) == 50);
  CHECK_FALSE(nvlink_gb_per_s({8, 9}).has_value());
  CHECK(pcie_gb_per_s(3, 16).value() == Approx(15.76).margin(0.01));
  CHECK(pcie_gb_per_s(5, 8).value() == Approx(31.5).margin(0.01));
  CHECK_FALSE(pcie_gb_per_s(9, 16).has_value());
  CHECK_FALSE(pcie_gb_per_s(5, 0).has_value());
}

TEST_CASE("a T4's link against an A100's is 19 times slower, not 37") {
  double a100 = *find_gpu_models("A100 SXM4 80GB").front()->nvlink->gb_per_s;
  double t4 = *find_gpu_models("T4").front()->pcie_gb_per_s;

  CHECK(a100 / t4 == Approx(19.0).margin(0.1));
}

} // namespace ncclprobe::knowledge
