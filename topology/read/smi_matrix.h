// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "topology/machine.h"

#include <string>
#include <string_view>

namespace ncclprobe::topology {

// What `nvidia-smi topo -m` printed: tabs or blanks, with or without the codes that underline its
// heading, the legends and text around it. Errors: invalid_argument with file and line for what is
// no such matrix, has a label nobody knows, or says two things of one pair.
base::Result<Machine> read_smi_matrix(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
