// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <unistd.h>

namespace ncclprobe::system {

// Whether systemd's logind removes this user's shared memory when their last session ends
// (RemoveIPC in logind.conf and its drop-ins, which concerns no system user). Absent: there is no
// systemd, or its files do not tell.
std::optional<bool> removes_shared_memory_at_logout(const std::filesystem::path& root = "/",
                                                    uid_t user = ::geteuid());

} // namespace ncclprobe::system
