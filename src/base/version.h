// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ncclprobe::base {

// "0.1.0", from CMake's project().
std::string_view version();

// "GNU 12.2.0, Release".
std::string_view compiler();

// The linker's hash of this program, 12 hexadecimal digits: equal only for equal builds. Empty if
// the linker wrote none.
std::string build_id();

// "0.1.0 build 0123456789ab".
std::string version_and_build();

} // namespace ncclprobe::base
