// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <string>
#include <string_view>

namespace ncclprobe::topology {

// A topology in the format that NCCL writes to NCCL_TOPO_DUMP_FILE and reads from NCCL_TOPO_FILE,
// including the files of cloud providers, which omit GPUs, ranks and links. `name` is the file's,
// for messages. Errors: invalid_argument with file and line if it is not such a file, has absurd
// nesting or numbers, or contradicts itself.
Result<Machine> read_nccl_xml(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
