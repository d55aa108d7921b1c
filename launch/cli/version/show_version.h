// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/session.h"

namespace ncclprobe::cli {

// `--version`: prints what ncclprobe and its worker are made of, and why this worker was chosen.
// With `--format json` anywhere on the command line, as JSON. Returns an exit code.
int show_version(const World& world);

} // namespace ncclprobe::cli
