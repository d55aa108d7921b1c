// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/nvtx/nvtx_abi.h"

namespace ncclprobe::plugin {

// Attaches to one copy of NVTX. Each library of a program may have its own. False: the copy has no
// tables of functions.
bool attach_to_nvtx(nvtx::GetExportTable get_export_table);

} // namespace ncclprobe::plugin
