// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/compute_capability.h"
#include "knowledge/version_number.h"

#include <string>
#include <vector>

namespace ncclprobe::knowledge {

// An official PyTorch wheel for Linux, and the GPUs whose code its own kernels have.
struct PytorchWheel {
  VersionNumber torch;
  std::string cuda_tag; // "cu121"
  VersionNumber cuda;
  std::vector<CodeTarget> cubins;
  std::vector<CodeTarget> ptx;
  std::string nccl;     // empty: not sourced
  std::string status;   // "stable", "experimental"; empty: not recorded
  std::string platform; // "linux x86_64"
  std::string note;
  std::vector<std::string> sources;

  std::string name() const { return torch.text() + "+" + cuda_tag; }
};
const std::vector<PytorchWheel>& pytorch_wheels(); // oldest first

// Nothing if the table has no such wheel ("2.7", "cu128").
const PytorchWheel* pytorch_wheel(std::string_view torch, std::string_view cuda_tag);

} // namespace ncclprobe::knowledge
