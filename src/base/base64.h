// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ncclprobe::base {

// RFC 4648, with padding.
std::string base64(std::string_view bytes);

} // namespace ncclprobe::base
