// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/page_data.h"

namespace ncclprobe::analysis {

// A timeline in a page's data: columns of 32 bits, packed (analysis/page/packed_column.h). Times
// are in ticks, of 1 ns unless a lane needs more than 32 bits for one difference.
void add_events(PageData& data, const EventChart& chart);

} // namespace ncclprobe::analysis
