// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/nccl_rows.h"

#include <cstdint>
#include <span>

namespace ncclprobe::analysis::timeline {

// NCCL's kernels leave their times in rings of 64 places a channel (NCCL 2.28,
// MAX_PROFILER_EVENTS_PER_CHANNEL), from which its host thread reads them: if it comes too late,
// they are those of the kernel 64, 128, ... operations later. Kernels of one communicator run one
// after the other, so what began, or ended, no sooner than an operation half a ring later did is
// not its own time. Of a stretch longer than a ring the first look right, as nobody else has their
// times: so what had the place of such a row a round before is in doubt, too. These rows lose their
// times by the GPU's clock and keep those at which the host heard of them; returns how many. Sends
// and receives are left alone: in a group they may run in any order.
std::uint64_t forget_overwritten(std::span<const trace::NcclOperationRow> operations,
                                 std::span<trace::NcclChannelRow> channels);

} // namespace ncclprobe::analysis::timeline
