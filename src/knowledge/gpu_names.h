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

// The words that distinguish models, in lower case: {"a100", "sxm4", "80gb"}. Words that any name
// may have (NVIDIA, GeForce, GPU) are omitted.
using NameWords = std::vector<std::string>;
NameWords words_of_gpu_name(std::string_view name);

enum class NameMatch {
  none,
  open, // the given words do not decide between this model and another
  exact,
};
NameMatch match_gpu_name(const NameWords& asked, const NameWords& model);

// Memory size in a name: "A100 80GB" -> 80.
std::optional<double> memory_gb_in(const NameWords& words);

// A product that is not an NVIDIA GPU, and its replacement for NCCL.
struct OtherVendor {
  std::string vendor;  // "AMD"
  std::string instead; // "its collective library is RCCL, with rccl-tests"
};
std::optional<OtherVendor> other_vendor(std::string_view name);

} // namespace ncclprobe::knowledge
