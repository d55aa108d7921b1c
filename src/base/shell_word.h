// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ncclprobe::base {

// The text as one word of a POSIX shell: in quotes where it needs them.
std::string shell_word(std::string_view text);

} // namespace ncclprobe::base
