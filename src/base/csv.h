// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// Comma-separated values as RFC 4180 has them.
namespace ncclprobe::base {

// Quoted where it needs it.
std::string csv_field(const std::string& text);

// The fields and the end of the line.
std::string csv_line(const std::vector<std::string>& fields);

} // namespace ncclprobe::base
