// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/gpu_models.h"
#include "support/catch.h"

namespace ncclprobe::knowledge {
namespace {

using Names = std::vector<std::string>;

Names meant(std::string_view asked) {
  Names names;
  for (const GpuModel* one : find_gpu_models(asked))
    names.push_back(one->name);
  return names;
}

} // namespace

TEST_CASE("models are found by the names that drivers print") {
  const std::pair<const char*, const char*> k_names[] = {
      {"Tesla K40m", "Tesla K40"},
      {"Tesla K80", "Tesla K80"},
      {"Tesla M60", "Tesla M60"},
      {"Tesla P4", "Tesla P4"},
      {"Tesla P40", "Tesla P40"},
      {"Tesla P100-PCIE-16GB", "Tesla P100 PCIe 16GB"},
      {"Tesla P100-SXM2-16GB", "Tesla P100 SXM2 16GB"},
      {"Tesla V100-SXM2-32GB", "Tesla V100 SXM2 32GB"},
      {"Tesla V100-SXM3-32GB", "Tesla V100 SXM3 32GB"},
      {"Tesla V100S-PCIE-32GB", "Tesla V100S PCIe 32GB"},
      {"Tesla T4", "T4"},
      {"NVIDIA T4G", "T4G"},
      {"NVIDIA A2", "A2"},
      {"NVIDIA A10", "A10"},
      {"NVIDIA A10G", "A10G"},
      {"NVIDIA A16", "A16"},
      {"NVIDIA A30", "A30"},
      {"NVIDIA A40", "A40"},
      {"NVIDIA A100-SXM4-40GB", "A100 SXM4 40GB"},
      {"NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB"},
      {"NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB"},
      {"NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"},
      {"NVIDIA A800-SXM4-80GB", "A800 SXM4 80GB"},
      {"NVIDIA A800 80GB PCIe", "A800 PCIe 80GB"},
      {"NVIDIA L4", "L4"},
      {"NVIDIA L20", "L20"},
      {"NVIDIA L40", "L40"},
      {"NVIDIA L40S", "L40S"},
      {"NVIDIA H100 80GB HBM3", "H100 SXM5 80GB"},
      {"NVIDIA H100 PCIe", "H100 PCIe 80GB"},
      {"NVIDIA H100 NVL", "H100 NVL"},
      {"NVIDIA H800", "H800 SXM5 80GB"},
      {"NVIDIA H20", "H20"},
      {"NVIDIA H20-3e", "H20-3e"},
      {"NVIDIA H200", "H200 SXM5"},
      {"NVIDIA H200 NVL", "H200 NVL"},
      {"NVIDIA GH200 480GB", "GH200 96GB HBM3"},
      {"NVIDIA GH200 144G HBM3e", "GH200 144GB HBM3e"},
      {"NVIDIA B200", "B200 SXM"},
      {"NVIDIA B300 SXM6 AC", "B300 SXM"},
      {"NVIDIA GB200", "GB200"},
      {"NVIDIA GB300", "GB300"},
      {"NVIDIA GB10", "GB10 (DGX Spark)"},
      {"Quadro RTX 6000", "Quadro RTX 6000"},
      {"Quadro RTX 8000", "Quadro RTX 8000"},
      {"GeForce GTX TITAN", "GeForce GTX TITAN"},
      {"GeForce GTX TITAN Black", "GeForce GTX TITAN Black"},
      {"NVIDIA TITAN RTX", "TITAN RTX"},
      {"NVIDIA TITAN V", "TITAN V"},
      {"NVIDIA RTX A2000 12GB", "RTX A2000 12GB"},
      {"NVIDIA RTX A6000", "RTX A6000"},
      {"NVIDIA RTX 4000 SFF Ada Generation", "RTX 4000 SFF Ada Generation"},
      {"NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada Generation"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Blackwell Server Edition"},
      {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
       "RTX PRO 6000 Blackwell Max-Q Workstation Edition"},
      {"NVIDIA GeForce GTX 1080 Ti", "GeForce GTX 1080 Ti"},
      {"NVIDIA GeForce GTX 1660 Ti", "GeForce GTX 1660 Ti"},
      {"NVIDIA GeForce RTX 2080 Ti", "GeForce RTX 2080 Ti"},
      {"NVIDIA GeForce RTX 2080 with Max-Q Design", "GeForce RTX 2080 Laptop"},
      {"NVIDIA GeForce RTX 3080 Laptop GPU", "GeForce RTX 3080 Laptop GPU"},
      {"NVIDIA GeForce RTX 3090", "GeForce RTX 3090"},
      {"NVIDIA GeForce RTX 4070 SUPER", "GeForce RTX 4070 SUPER"},
      {"NVIDIA GeForce RTX 4090 D", "GeForce RTX 4090 D"},
      {"NVIDIA GeForce RTX 5090", "GeForce RTX 5090"},
      {"NVIDIA GeForce RTX 5090 Laptop GPU", "GeForce RTX 5090 Laptop GPU"},
  };
  for (const auto& [asked, name] : k_names) {
    INFO(asked);
    CHECK(meant(asked) == Names{name});
  }
}

TEST_CASE("models are found by what people write") {
  for (auto [asked, name] :
       {std::pair{"rtx4090", "GeForce RTX 4090"}, std::pair{"4090D", "GeForce RTX 4090 D"},
        std::pair{"rtx 2080ti", "GeForce RTX 2080 Ti"},
        std::pair{"4070 ti super", "GeForce RTX 4070 Ti SUPER"}, std::pair{"a6000", "RTX A6000"},
        std::pair{"v100s", "Tesla V100S PCIe 32GB"}, std::pair{"DGX Spark", "GB10 (DGX Spark)"}}) {
    INFO(asked);
    CHECK(meant(asked) == Names{name});
  }
}

TEST_CASE("a card is not taken for a bigger one of its name") {
  for (const auto& [asked, not_meant] :
       {std::pair{"RTX 2080", "GeForce RTX 2080 Ti"},
        std::pair{"RTX 2080", "GeForce RTX 2080 SUPER"},
        std::pair{"RTX 4090", "GeForce RTX 4090 D"}, std::pair{"RTX 5070", "GeForce RTX 5070 Ti"},
        std::pair{"RTX A4000", "Quadro RTX 4000"}, std::pair{"L40", "L40S"},
        std::pair{"A10", "A10G"}, std::pair{"A100 80GB", "A100 SXM4 40GB"},
        std::pair{"H20", "H20-3e"}, std::pair{"H100", "H100 NVL"}}) {
    INFO(asked);
    const Names names = meant(asked);
    CHECK_FALSE(names.empty());
    const bool is_exact = std::string_view(asked) != "H100"; // people leave NVL out
    CHECK(std::count(names.begin(), names.end(), not_meant) == (is_exact ? 0 : 1));
  }
}

TEST_CASE("a name of several cards gives all of them, and only them") {
  CHECK(meant("A100").size() == 4);
  CHECK(meant("A100 80GB") == Names{"A100 PCIe 80GB", "A100 SXM4 80GB"});
  CHECK(meant("RTX 3080") == Names{"GeForce RTX 3080 10GB", "GeForce RTX 3080 12GB"});
  CHECK(meant("RTX 3080 12GB") == Names{"GeForce RTX 3080 12GB"});
  CHECK(meant("RTX 3050") == Names{"GeForce RTX 3050 6GB", "GeForce RTX 3050 8GB"});
  CHECK(meant("RTX 2080") == Names{"GeForce RTX 2080", "GeForce RTX 2080 Laptop"});
  CHECK(meant("RTX 6000") == Names{"Quadro RTX 6000", "RTX 6000 Ada Generation"});
  CHECK(meant("Orin (nvgpu)").size() == 6);
  CHECK(meant("NVIDIA Thor").size() == 2);
}

TEST_CASE("a slice of a GPU is one of that GPU") {
  CHECK(meant("NVIDIA A100-SXM4-80GB MIG 3g.40gb") == Names{"A100 SXM4 80GB"});
}

TEST_CASE("what is no model is not taken for one") {
  for (const char* text : {"", "X9000", "80GB", "NVIDIA", "RTX", "Laptop GPU", "RTX 9999", "MI300X",
                           "Radeon RX 7900", "NVIDIA Graphics Device"}) {
    INFO(text);
    CHECK(find_gpu_models(text).empty());
  }
}

TEST_CASE("of cards of one name, the memory that was seen tells which it is") {
  const auto both = find_gpu_models("NVIDIA GeForce RTX 3080");

  CHECK(with_memory(both, 10.7).front()->name == "GeForce RTX 3080 10GB");
  CHECK(with_memory(both, 12.9).front()->name == "GeForce RTX 3080 12GB");
  CHECK(with_memory(both, 24).size() == 2); // none has: nothing is learnt
}

TEST_CASE("other makers' GPUs are known as theirs, with what takes the place of NCCL") {
  for (const char* name : {"MI300X", "AMD Instinct MI250", "Radeon RX 7900 XTX", "RX 9070 XT"}) {
    INFO(name);
    REQUIRE(other_vendor(name));
    CHECK(other_vendor(name)->vendor == "AMD");
    CHECK_THAT(other_vendor(name)->instead, ContainsSubstring("RCCL"));
  }
  CHECK(other_vendor("Intel Arc A770")->vendor == "Intel");
  CHECK(other_vendor("Gaudi 3")->vendor == "Intel");
  CHECK(other_vendor("TPU v4")->vendor == "Google");
  for (const char* name : {"RTX 4090", "NVIDIA A100-SXM4-80GB", "Frobnicator", "M60", "MIG"}) {
    INFO(name);
    CHECK_FALSE(other_vendor(name));
  }
}

} // namespace ncclprobe::knowledge
