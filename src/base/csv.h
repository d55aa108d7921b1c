// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// Comma-separated values, RFC 4180.
namespace ncclprobe::base {

// Quoted if necessary. A text that a spreadsheet would take for a formula ("=cmd()", "@sum") gets
// an apostrophe in front, which marks text there. Numbers stay as they are.
std::string csv_field(const std::string& text);

// One line: the fields, with a line break at the end.
std::string csv_line(const std::vector<std::string>& fields);

} // namespace ncclprobe::base
