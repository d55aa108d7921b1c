// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ncclprobe::topology {

// The line on which an element of a JSON text begins, counted from one. `pointer` names it as in
// RFC 6901, "/hosts/0/pci/3" (keys with '/' or '~' are not found). For a missing element: the line
// of its last existing parent.
std::size_t json_line_of(std::string_view text, const std::string& pointer);

} // namespace ncclprobe::topology
