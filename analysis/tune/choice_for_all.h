// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/outcome.h"
#include "analysis/search/space.h"

namespace ncclprobe::analysis::tune {

// The candidate to deliver where all targets must share one: the one that was found for the
// targets of the most weight. A target for which nothing of its own is proven counts for the
// settings. With equal weights, what is proven for a target comes before the settings.
search::Candidate choice_for_all(const search::Space& space, const search::Outcome& outcome);

} // namespace ncclprobe::analysis::tune
