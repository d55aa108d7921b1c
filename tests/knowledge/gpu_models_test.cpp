// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/document.h"
#include "knowledge/gpu_models.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace ncclprobe::knowledge {
namespace {

constexpr const char* k_files[] = {"gpus_until_volta", "gpus_turing", "gpus_ampere",
                                   "gpus_ada",         "gpus_hopper", "gpus_blackwell"};

const GpuModel& model(std::string_view name) {
  auto found = find_gpu_models(name);
  INFO(name);
  REQUIRE(found.size() == 1);
  return *found.front();
}

std::string pcie_of(const GpuModel& one) {
  return fmt::format("{} x{}", one.pcie_generation.value_or(0), one.pcie_width.value_or(0));
}

} // namespace

TEST_CASE("every model says capability, memory, PCIe, NVLink and their sources, or that they are "
          "not known") {
  std::size_t models = 0;
  for (const char* file : k_files)
    for (const auto& family : section(file, "families"))
      for (const auto& one : family.at("models")) {
        INFO(file << ": " << one.at("name"));
        ++models;
        for (const char* field :
             {"capability", "architecture", "segment", "memory_gb", "pcie", "nvlink"})
          CHECK((one.contains(field) || family.contains(field)));
        CHECK(one.at("sources").is_array());
      }
  CHECK(models == gpu_models().size());
}

TEST_CASE("no field of a model is misspelt") {
  const std::set<std::string> k_fields{"name",
                                       "driver_names",
                                       "pci_device_ids",
                                       "family",
                                       "capability",
                                       "architecture",
                                       "segment",
                                       "form_factor",
                                       "arm_host",
                                       "memory_gb",
                                       "host_link_gb_per_s",
                                       "memory_type",
                                       "memory_gb_per_s",
                                       "tensor_tflops",
                                       "tensor_sources",
                                       "pcie",
                                       "nvlink",
                                       "host_link",
                                       "power_w",
                                       "note",
                                       "sources",
                                       "nvlink_sources",
                                       "capability_sources",
                                       "models"};
  for (const char* file : k_files)
    for (const auto& family : section(file, "families")) {
      for (const auto& [field, value] : family.items())
        CHECK(k_fields.contains(field));
      for (const auto& one : family.at("models"))
        for (const auto& [field, value] : one.items()) {
          INFO(one.at("name") << " " << field);
          CHECK(k_fields.contains(field));
        }
    }
}

TEST_CASE("every source of a model leads to an address") {
  for (const GpuModel& one : gpu_models()) {
    INFO(one.name);
    CHECK_FALSE(one.sources.capability.empty());
    CHECK_FALSE(one.sources.card.empty());
    CHECK(one.sources.tensor.empty() == one.tensor_tflops.text().empty());
    CHECK((one.sources.nvlink.empty() ? !one.nvlink : true)); // unsourced values are absent
    for (const std::string& key : one.sources.all()) {
      INFO(key);
      CHECK(source_text(key).starts_with("http"));
    }
  }
}

TEST_CASE("what a model says is possible") {
  std::set<std::string> names;
  for (const GpuModel& one : gpu_models()) {
    INFO(one.name);
    CHECK(names.insert(one.name).second);
    CHECK(gpu_features(one.capability) != nullptr);
    CHECK(one.memory_gb.value_or(1) > 0);
    if (one.pcie_width)
      CHECK((*one.pcie_width == 4 || *one.pcie_width == 8 || *one.pcie_width == 16));
    if (!one.nvlink || !one.nvlink->present)
      continue;
    CHECK_FALSE(one.nvlink->generation.empty());
    CHECK((one.nvlink->via == "bridge") == one.nvlink->bridged_gpus.has_value());
    // As many links as the generation's rate makes of it: 12 links of 25 GB/s are 300 GB/s.
    for (const NvlinkGeneration& generation : nvlink_generations())
      if (generation.generation == one.nvlink->generation && generation.link_gb_per_s &&
          one.nvlink->links && one.nvlink->gb_per_s)
        CHECK(*one.nvlink->gb_per_s ==
              Approx(*one.nvlink->links * *generation.link_gb_per_s).epsilon(0.001));
  }
}

TEST_CASE("each series that people have is known") {
  for (const char* name : {"RTX 2060",
                           "RTX 2070 Super",
                           "RTX 3060 Ti",
                           "RTX 3070 Laptop",
                           "RTX 4060",
                           "RTX 4080",
                           "RTX 5060 Ti",
                           "RTX 5080",
                           "GTX 1050",
                           "GTX 1650",
                           "Titan Xp",
                           "Titan RTX",
                           "Quadro RTX 5000",
                           "RTX A2000",
                           "RTX A4500",
                           "RTX A5500",
                           "RTX 4500 Ada",
                           "RTX 5000 Ada",
                           "RTX PRO 4000",
                           "RTX PRO 5000",
                           "L2",
                           "L20",
                           "A2",
                           "A16",
                           "A10G",
                           "P4",
                           "P40",
                           "P100",
                           "K80",
                           "M60",
                           "M40",
                           "T4G",
                           "V100S",
                           "H20",
                           "H20-3e",
                           "H800",
                           "A800",
                           "B300",
                           "GB10",
                           "GB200",
                           "GB300",
                           "GH200",
                           "AGX Xavier",
                           "Xavier NX",
                           "Orin NX",
                           "AGX Orin",
                           "Jetson Thor"}) {
    INFO(name);
    CHECK_FALSE(find_gpu_models(name).empty());
  }
}

TEST_CASE("the facts that articles get wrong are right here") {
  CHECK(model("A100 SXM4 80GB").capability == ComputeCapability{8, 0});
  CHECK(model("A800 SXM4 80GB").capability == ComputeCapability{8, 0});
  CHECK(model("RTX 5090").capability == ComputeCapability{12, 0});
  CHECK(model("RTX 3090").capability == ComputeCapability{8, 6});
  CHECK(model("GTX 1660 Ti").capability == ComputeCapability{7, 5});
  CHECK(model("GB10").capability == ComputeCapability{12, 1});
  CHECK(model("B300").capability == ComputeCapability{10, 3});
  CHECK(find_gpu_models("Thor").front()->capability == ComputeCapability{11, 0});
  // FP8 tensor cores begin with 8.9, TF32 with 8.0.
  CHECK(gpu_features({8, 9})->fp8 == true);
  CHECK(gpu_features({8, 6})->fp8 == false);
  CHECK(gpu_features({7, 5})->tf32 == false);
  CHECK(gpu_features({8, 0})->tf32 == true);
  CHECK(gpu_features({8, 0})->tensor_core_generation == "3rd gen");
}

TEST_CASE("links are those of the data sheets") {
  CHECK(pcie_of(model("RTX 4090")) == "4 x16");
  CHECK(pcie_of(model("RTX 5090")) == "5 x16");
  CHECK(pcie_of(model("RTX 4060")) == "4 x8");
  CHECK(pcie_of(model("A2")) == "4 x8");
  CHECK(pcie_of(model("T4")) == "3 x16");
  CHECK(pcie_of(model("H200 SXM5")) == "5 x16");
  CHECK_FALSE(model("RTX 4090").nvlink->present);
  CHECK_FALSE(model("RTX PRO 6000 Blackwell Server Edition").nvlink->present);
  CHECK(model("RTX 3090").nvlink->gb_per_s == 56.25);
  CHECK(model("A800 SXM4 80GB").nvlink->total_gb_per_s() == 400);
  CHECK(model("H800").nvlink->total_gb_per_s() == 400);
  CHECK(model("H20").nvlink->total_gb_per_s() == 900);
  CHECK_FALSE(model("H200 SXM5").nvlink->bridged_gpus);
  CHECK(model("H200 NVL").nvlink->bridged_gpus == 4);
  for (const char* bridged : {"A100 PCIe 80GB", "A40", "A30", "H100 NVL", "H100 PCIe", "RTX A6000",
                              "RTX 3090", "Quadro RTX 8000", "RTX 2080 Ti"}) {
    INFO(bridged);
    CHECK(model(bridged).nvlink->bridged_gpus == 2);
  }
}

TEST_CASE("superchips and their like come with an Arm CPU") {
  for (const char* arm : {"GH200", "GB200", "GB300", "GB10", "Thor", "Orin", "Xavier"})
    for (const GpuModel* one : find_gpu_models(arm)) {
      INFO(one->name);
      CHECK(one->arm_host);
    }
  CHECK_FALSE(model("B200").arm_host);
  CHECK(model("GH200 480GB").host_link == "NVLink-C2C");
}

TEST_CASE("what is not sourced stays unknown") {
  CHECK_FALSE(model("A100X").nvlink.has_value());
  CHECK_FALSE(gpu_features({12, 0})->multicast.has_value());
  CHECK(gpu_features({99, 0}) == nullptr);
}

TEST_CASE("that a GPU has no NVLink must be known of all that are meant") {
  CHECK(all_without_nvlink(find_gpu_models("RTX 4090")));
  CHECK_FALSE(all_without_nvlink(find_gpu_models("RTX 3090")));
  CHECK_FALSE(all_without_nvlink(find_gpu_models("A100X"))); // not sourced
  CHECK_FALSE(all_without_nvlink({}));
}

TEST_CASE("a model is found by its PCI device id") {
  REQUIRE(gpu_model_of_device(0x2335) != nullptr);
  CHECK(gpu_model_of_device(0x2335)->name == "H200 SXM5");
  REQUIRE(gpu_model_of_device(0x233B) != nullptr);
  CHECK(gpu_model_of_device(0x233B)->name == "H200 NVL");
  CHECK(gpu_model_of_device(0xFFFF) == nullptr);
  CHECK(gpu_model_of_device(0) == nullptr);
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
  CHECK(*model("A100 SXM4 80GB").nvlink->gb_per_s / *model("T4").pcie_gb_per_s ==
        Approx(19.0).margin(0.1));
}

} // namespace ncclprobe::knowledge
