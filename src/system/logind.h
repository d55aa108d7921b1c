// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>

namespace ncclprobe::system {

struct User {
  uid_t id = 0;
  std::string name; // empty: not known
};
User this_user();

// Whether systemd's logind removes this user's shared memory when their last session ends
// (RemoveIPC in logind.conf and its drop-ins). It does not affect system users or users that
// linger. Absent: there is no systemd, or its files do not say.
std::optional<bool> removes_shared_memory_at_logout(const std::filesystem::path& root = "/",
                                                    const User& user = this_user());

} // namespace ncclprobe::system
