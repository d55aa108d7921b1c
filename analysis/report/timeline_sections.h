// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/timeline_report.h"

// Sections of the timeline, empty where there is nothing to say. Cells are told apart where there
// are several. Tables point into the timeline, which must stay.
namespace ncclprobe::analysis {

// What the steps of each rank and cell were spent on, and the streams that communicate.
Report steps_report(const timeline::Timeline& timeline, const TimelineHeading& heading);
Report stragglers_report(const timeline::Timeline& timeline, const TimelineHeading& heading);
// Who waits for whom in sends and receives.
Report messages_report(const timeline::Timeline& timeline, const TimelineHeading& heading);
Report slowdowns_report(const timeline::Timeline& timeline, const TimelineHeading& heading);
// What NCCL chose, and what its channels took.
Report choices_report(const timeline::Timeline& timeline);
Report gaps_report(const timeline::Timeline& timeline, const TimelineHeading& heading);

Object gaps_value(const timeline::Gaps& gaps);

} // namespace ncclprobe::analysis
