// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/timeline_report.h"

#include <string>

// Sections of the timeline, each with its title; empty where there is nothing to say. Cells are
// told apart where there are several.
namespace ncclprobe::analysis {

// What the steps of each rank and cell were spent on, and the streams that communicate.
std::string render_steps(const timeline::Timeline& timeline, const TimelineHeading& heading);
std::string render_stragglers(const timeline::ByCell<timeline::Stragglers>& found);
std::string render_slowdowns(const timeline::Timeline& timeline);
// What NCCL chose, and what its channels took.
std::string render_choices(const timeline::Timeline& timeline);
std::string render_gaps(const timeline::ByCell<timeline::Gaps>& gaps);

} // namespace ncclprobe::analysis
