// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace ncclprobe::base {

// Parts of `text` between separators; empty ones are omitted, as in strtok.
std::vector<std::string_view> split(std::string_view text, char separator);

} // namespace ncclprobe::base
