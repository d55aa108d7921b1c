// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ncclprobe::base {

// The text without what would upset a terminal: escape sequences go, tabs become blanks; control
// characters, those that turn the direction of writing, and bytes that are no UTF-8 become '?'.
// Worker output, files of others and environment values come from anywhere.
std::string printable(std::string_view text);

} // namespace ncclprobe::base
