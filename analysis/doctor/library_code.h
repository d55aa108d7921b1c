// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/survey/case.h"

#include <vector>

namespace ncclprobe::analysis::doctor {

// The GPU code of the NCCL library that the surveyed process has loaded, read from its file on this
// host. Empty if there are no GPUs to run it, or if the file cannot be read.
std::vector<LibraryCode> read_library_code(const model::Survey& survey);

} // namespace ncclprobe::analysis::doctor
