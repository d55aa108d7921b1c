// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// NVIDIA driver errors in the kernel's log: the ring buffer (<root>/dev/kmsg, which unprivileged
// users often may not read), else the first of the system's log files that can be read. Of a log,
// the last errors. `now_s`: seconds since 1970, to tell how old a file's lines are.
model::KernelLog kernel_log(const std::filesystem::path& root, std::int64_t now_s);
model::KernelLog kernel_log(); // of this host, now

// "... NVRM: Xid (PCI:0000:3b:00): 79, ..." -> the error; nothing for other lines.
std::optional<model::Xid> parse_xid(const std::string& line);

// When a line of a log file was written, in seconds since 1970: "2026-03-01T12:34:56.789+01:00 ..."
// or, in local time and of the last twelve months, "Mar  1 12:34:56 ...". Nothing for other lines.
std::optional<std::int64_t> written_at_s(const std::string& line, std::int64_t now_s);

} // namespace ncclprobe::system
