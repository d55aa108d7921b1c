// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::topology {

// Whether lines belong to such a text: by the title of the query, by entries of GPUs and links.
bool has_smi_query(const std::vector<std::string>& lines);
bool is_smi_link_list(const std::vector<std::string>& lines);

// The output of `nvidia-smi -q`. GPUs are numbered in its order. Errors: invalid_argument with file
// and line.
Result<Machine> read_smi_query(std::string_view text, const std::string& name);

// The output of `nvidia-smi nvlink -s`: the links of each GPU and their rate, but not their far
// ends. Errors: invalid_argument with file and line.
Result<Machine> read_smi_nvlink(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
