// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ncclprobe::cli {

// The file by which a folder is known to be one of `ncclprobe record`, even without a capture. It
// holds the name of the job.
inline constexpr const char* k_recorded_job = ".ncclprobe-record";

} // namespace ncclprobe::cli
