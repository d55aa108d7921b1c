// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report/timeline_report.h"

// Sections of the timeline; empty if there is nothing to show. Several cells are named. Tables
// point into the timeline, which must stay.
namespace ncclprobe::analysis {

// How the time of a step is spent, who holds the others up, and what to do.
Section timeline_answer(const timeline::Timeline& timeline, const TimelineHeading& heading);
// How the time of each rank's and cell's steps was spent, and the streams that communicate.
Report steps_report(const timeline::Timeline& timeline, const TimelineHeading& heading);
// The steps that were found in a captured job, and what its communicators are used for.
Report job_report(const timeline::Timeline& timeline, const TimelineHeading& heading);
// The phases of a captured job's steps, by its NVTX ranges.
Report phases_report(const timeline::Timeline& timeline, const TimelineHeading& heading);
// Who holds a captured job up, and what would change that.
Report job_causes_report(const timeline::Timeline& timeline, const TimelineHeading& heading);
Report stragglers_report(const timeline::Timeline& timeline, const TimelineHeading& heading);
// Who waits for whom in sends and receives.
Report messages_report(const timeline::Timeline& timeline, const TimelineHeading& heading);
Report slowdowns_report(const timeline::Timeline& timeline, const TimelineHeading& heading);
// NCCL's choices, and the times of its channels.
Report choices_report(const timeline::Timeline& timeline);
Report gaps_report(const timeline::Timeline& timeline, const TimelineHeading& heading);

// Ranks are not compared then (Timeline::clocks_are_wrong).
Finding wrong_clocks(const timeline::Timeline& timeline);

Object gaps_value(const timeline::Gaps& gaps);

} // namespace ncclprobe::analysis
