// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/nccl_rows.h"

#include <cstdint>
#include <span>

namespace ncclprobe::analysis::timeline {

// NCCL's kernels write their times into rings of 64 places per channel (NCCL 2.28,
// MAX_PROFILER_EVENTS_PER_CHANNEL), from which its host thread reads them. If it reads too late,
// they belong to the kernel 64, 128, ... operations later. Kernels of one communicator run in
// sequence. So if an operation began, or ended, no earlier than one half a ring later, its times
// are not its own. If such a section is longer than a ring, its first rows look right, because
// nobody else has their times; the previous row in the same place is therefore in doubt, too. These
// rows lose their GPU times and keep the times at which the host heard of them; returns their
// number. Sends and receives are unaffected: in a group they may run in any order.
std::uint64_t forget_overwritten(std::span<const trace::NcclOperationRow> operations,
                                 std::span<trace::NcclChannelRow> channels);

} // namespace ncclprobe::analysis::timeline
