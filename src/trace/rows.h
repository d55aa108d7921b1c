// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/device_rows.h"
#include "trace/ledger_rows.h"
#include "trace/nccl_rows.h"
#include "trace/range_rows.h"
#include "trace/runner_rows.h"

#include <tuple>

namespace ncclprobe::trace {

// All row types, for code that processes every table.
using AllRows =
    std::tuple<SpanRow, OperationRow, KernelRow, CopyRow, StreamRow, ApiRow, SynchronizationRow,
               DeviceEventRow, OverheadRow, EnvironmentRow, CommunicatorRow, NcclOperationRow,
               NcclChannelRow, NcclStepRow, NcclNetworkRow, LossRow, LongRow, ClockRow, FactRow,
               NcclOpenRow, KernelWindowRow, RangeRow>;

} // namespace ncclprobe::trace
