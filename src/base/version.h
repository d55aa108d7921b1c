// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ncclprobe::base {

// "0.1.0", from CMake's project().
std::string_view version();

} // namespace ncclprobe::base
