// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ncclprobe::cli {

// Of the sources that this program was built from; empty if the build did not know it.
std::string_view commit();

} // namespace ncclprobe::cli
