// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ncclprobe::plugin {

// The contents of a kernel's name.
struct KernelName {
  std::string text; // for people
  bool communication = false;
  bool own = false; // a kernel of kernels.cu: measurement overhead unless a schedule asks for it
};
KernelName kernel_name(const char* told);

} // namespace ncclprobe::plugin
