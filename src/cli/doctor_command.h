// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/doctor_options.h"
#include "cli/session.h"

namespace ncclprobe::cli {

// `ncclprobe doctor`, on every rank. Returns the exit code, on the leader that of the worst
// finding.
int doctor_command(const World& world, const DoctorOptions& options);

} // namespace ncclprobe::cli
