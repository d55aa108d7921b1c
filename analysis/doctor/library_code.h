// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/survey/case.h"

#include <vector>

namespace ncclprobe::analysis::doctor {

// What code NCCL's library holds, as it is mapped into the surveyed process, read from its file on
// this host. Nothing where there are no GPUs to run it, or the file cannot be read.
std::vector<LibraryCode> read_library_code(const model::Survey& survey);

} // namespace ncclprobe::analysis::doctor
