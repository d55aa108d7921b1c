// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ncclprobe::page {

// A file that the build made (bundle.cmake): "script", "style", "script_hash", "style_hash". Empty
// if this build has none.
std::string_view embedded_text(std::string_view name);

} // namespace ncclprobe::page
