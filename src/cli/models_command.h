// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/models_options.h"

namespace ncclprobe::cli {

// `ncclprobe models`: what is trained, and what of it is synchronised. Returns an exit code.
int models_command(const ModelsOptions& options);

} // namespace ncclprobe::cli
