// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

// CUPTI's records, each by the oldest layout that holds what is read of it. A CUPTI writes the
// latest layout that it knows, whatever header a program was built with; later layouts begin with
// the earlier ones. So these serve for CUDA 11.8 and every later toolkit, and for another minor
// version of CUPTI than the one whose header was seen.
namespace ncclprobe::nvidia {

using KernelRecord = CUpti_ActivityKernel8;
using CopyRecord = CUpti_ActivityMemcpy5;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using SetRecord = CUpti_ActivityMemset4;
using CallRecord = CUpti_ActivityAPI;
using EnvironmentRecord = CUpti_ActivityEnvironment;
using OperationRecord = CUpti_ActivityExternalCorrelation;

// Under which an OperationRecord has the number of an operation of the schedule.
inline constexpr CUpti_ExternalCorrelationKind k_operation_kind =
    CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

// What CUDA 12 does not tell, or only its last minor versions: when an event was reached and which
// record of it a call waited for. Where a field is missing, record_decoder.cpp does without.
#if CUPTI_API_VERSION >= 130000
using SynchronizationRecord = CUpti_ActivitySynchronization2;
using EventRecord = CUpti_ActivityCudaEvent2;
using OverheadRecord = CUpti_ActivityOverhead3;
inline constexpr bool k_tells_event_times = true;
#else
using SynchronizationRecord = CUpti_ActivitySynchronization;
using EventRecord = CUpti_ActivityCudaEvent;
using OverheadRecord = CUpti_ActivityOverhead;
inline constexpr bool k_tells_event_times = false;
#endif

} // namespace ncclprobe::nvidia
