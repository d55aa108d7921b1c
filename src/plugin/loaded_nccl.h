// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ncclprobe::plugin {

// The version of the NCCL that this process has loaded, "2.28.9"; empty: unknown. Loads nothing.
std::string nccl_version();

} // namespace ncclprobe::plugin
