// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/binary/device_code.h"

#include <string_view>

namespace ncclprobe::analysis {

bool is_fat_binary(std::string_view bytes);

// For a section that contains only fat binaries, one after the other with padding between them.
void read_fat_binaries(std::string_view section, DeviceCode& code);

// For any data that may contain fat binaries: finds them by their magic number.
void find_fat_binaries(std::string_view data, DeviceCode& code);

} // namespace ncclprobe::analysis
