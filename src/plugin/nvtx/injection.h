// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/nvtx/nvtx_abi.h"

namespace ncclprobe::plugin {

// Takes part in this copy of NVTX, of which each library of a program may have its own. False: it
// has no tables of functions.
bool attach_to_nvtx(nvtx::GetExportTable get_export_table);

} // namespace ncclprobe::plugin
