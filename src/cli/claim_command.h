// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/claim_options.h"

namespace ncclprobe::cli {

// Says what the claim means. Returns the exit code (0, 2, 9).
int check_claim(ClaimOptions options, std::ostream& out, std::ostream& err);

} // namespace ncclprobe::cli
