// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// NVIDIA driver errors in the kernel's log: the ring buffer (<root>/dev/kmsg, which unprivileged
// users often may not read), else the first of the system's log files that can be read. Of a log,
// the last errors.
model::KernelLog kernel_log(const std::filesystem::path& root = "/");

// "... NVRM: Xid (PCI:0000:3b:00): 79, ..." -> the error; nothing for other lines.
std::optional<model::Xid> parse_xid(const std::string& line);

} // namespace ncclprobe::system
