// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <string>
#include <string_view>

namespace ncclprobe::topology {

// A topology as NCCL writes it to NCCL_TOPO_DUMP_FILE and reads it from NCCL_TOPO_FILE, including
// the files of cloud providers, which leave out GPUs, ranks and links. `name` is the file's, for
// messages. Errors: invalid_argument with file and line for what is no such file, is nested or
// numbered absurdly, or contradicts itself.
base::Result<Machine> read_nccl_xml(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
