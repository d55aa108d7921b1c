// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::topology {

// Whether lines are of such a text: by the title of the query, by entries of GPUs and links.
bool has_smi_query(const std::vector<std::string>& lines);
bool is_smi_link_list(const std::vector<std::string>& lines);

// What `nvidia-smi -q` printed. GPUs are numbered in its order. Errors: invalid_argument with file
// and line.
base::Result<Machine> read_smi_query(std::string_view text, const std::string& name);

// What `nvidia-smi nvlink -s` printed: the links of each GPU and their rate. Where they lead is not
// in it. Errors: invalid_argument with file and line.
base::Result<Machine> read_smi_nvlink(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
