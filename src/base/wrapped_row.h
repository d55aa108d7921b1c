// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/text_table.h"

#include <string>
#include <vector>

namespace ncclprobe::base {

// Adds `cells` to the table. Cells that are wider than their width (0: any) continue in rows below.
// Cells may come from users: they are made printable.
void add_wrapped_row(TextTable& table, std::vector<std::string> cells,
                     const std::vector<int>& widths);

} // namespace ncclprobe::base
