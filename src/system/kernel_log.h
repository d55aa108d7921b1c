// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// NVIDIA driver errors in the kernel log: from the ring buffer (<root>/dev/kmsg, often unreadable
// for unprivileged users), else the last ones in the first readable log file of the system.
// `now_s`: seconds since 1970, to compute the age of a file's lines.
model::KernelLog kernel_log(const std::filesystem::path& root, std::int64_t now_s);
model::KernelLog kernel_log(); // of this host, now

// "... NVRM: Xid (PCI:0000:3b:00): 79, ..." -> the error; nothing for other lines.
std::optional<model::Xid> parse_xid(const std::string& line);

// When a line of a log file was written, in seconds since 1970: "2026-03-01T12:34:56.789+01:00 ..."
// or, in local time and of the last twelve months, "Mar  1 12:34:56 ...". Nothing for other lines.
std::optional<std::int64_t> written_at_s(const std::string& line, std::int64_t now_s);

} // namespace ncclprobe::system
