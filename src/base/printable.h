// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ncclprobe::base {

// The text without what would upset a terminal: escape sequences go, control characters become '?',
// tabs a blank. Worker output, files of others and environment values come from anywhere.
std::string printable(std::string_view text);

} // namespace ncclprobe::base
