// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

// CUPTI's records, each in the oldest layout that holds the fields read here. A CUPTI writes the
// latest layout that it knows, regardless of the program's header; later layouts extend earlier
// ones. These layouts therefore work with CUDA 11.8 and every later toolkit, and with another minor
// version of CUPTI than the header's.
namespace ncclprobe::nvidia {

using KernelRecord = CUpti_ActivityKernel8;
using CopyRecord = CUpti_ActivityMemcpy5;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using SetRecord = CUpti_ActivityMemset4;
using CallRecord = CUpti_ActivityAPI;
using EnvironmentRecord = CUpti_ActivityEnvironment;
using OperationRecord = CUpti_ActivityExternalCorrelation;

// The kind of external id under which an OperationRecord holds the number of an operation of the
// schedule.
inline constexpr CUpti_ExternalCorrelationKind k_operation_kind =
    CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

// Data that CUDA 12 reports only in its last minor versions or not at all: when an event was
// reached, and which of its records a call waited for. record_decoder.cpp works without missing
// fields.
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
