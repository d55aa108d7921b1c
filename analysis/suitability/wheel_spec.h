// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "knowledge/version_number.h"

#include <string>

namespace ncclprobe::analysis {

// The target of a PyTorch wheel, from the tag after its version.
enum class WheelBuild {
  pypi, // no tag: the one on PyPI
  cuda,
  cpu,
  rocm, // AMD
  xpu,  // Intel
};

// A PyTorch wheel as pip names it: "torch==2.8.0+cu128".
struct WheelSpec {
  std::string text; // as given
  knowledge::VersionNumber torch;
  WheelBuild build = WheelBuild::pypi;
  std::string tag;          // "cu128"; empty: none
  bool pre_release = false; // "2.10.0.dev20251001", "2.9.0rc1"
};

// "torch==2.8.0+cu128", "torch==2.8", "2.8+cu126". Errors: invalid_argument.
base::Result<WheelSpec> parse_wheel_spec(const std::string& text);

} // namespace ncclprobe::analysis
