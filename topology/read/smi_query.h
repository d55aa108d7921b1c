// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "topology/machine.h"

#include <string>
#include <string_view>

namespace ncclprobe::topology {

// What `nvidia-smi -q` printed. GPUs are numbered in its order. Errors: invalid_argument with file
// and line.
base::Result<Machine> read_smi_query(std::string_view text, const std::string& name);

// What `nvidia-smi nvlink -s` printed: the links of each GPU and their rate. Where they lead is not
// in it. Errors: invalid_argument with file and line.
base::Result<Machine> read_smi_nvlink(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
