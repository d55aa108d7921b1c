// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Names of GPUs as people, drivers and data sheets write them: "rtx4090", "NVIDIA GeForce RTX
// 4090", "A100-SXM4-80GB", "NVIDIA A100 80GB PCIe".
namespace ncclprobe::knowledge {

// The words that tell models apart, in small letters: {"a100", "sxm4", "80gb"}. Words that any name
// may have (NVIDIA, GeForce, GPU) are left out.
using NameWords = std::vector<std::string>;
NameWords words_of_gpu_name(std::string_view name);

enum class NameMatch {
  none,
  open, // the words asked for leave it open whether this model or another is meant
  exact,
};
NameMatch match_gpu_name(const NameWords& asked, const NameWords& model);

// Memory size that a name holds: "A100 80GB" -> 80.
std::optional<double> memory_gb_in(const NameWords& words);

// What is no NVIDIA GPU, and what takes the place of NCCL there.
struct OtherVendor {
  std::string vendor;  // "AMD"
  std::string instead; // "its library for collectives is RCCL, with rccl-tests"
};
std::optional<OtherVendor> other_vendor(std::string_view name);

} // namespace ncclprobe::knowledge
