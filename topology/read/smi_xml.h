// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <string>
#include <string_view>

namespace ncclprobe::topology {

// The output of `nvidia-smi -q -x`. GPUs are numbered in its order. Errors: invalid_argument with
// file and line.
Result<Machine> read_smi_xml(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
