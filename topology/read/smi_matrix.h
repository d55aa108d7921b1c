// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::topology {

// Whether some line is the heading of such a matrix and the next one its first row.
bool has_smi_matrix(const std::vector<std::string>& lines);

// The output of `nvidia-smi topo -m`: tabs or blanks, with or without the codes that underline its
// heading, the legends and some text around it. Errors: invalid_argument with file and line if it
// is not such a matrix, has an unknown label, or contradicts itself about a pair.
Result<Machine> read_smi_matrix(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
