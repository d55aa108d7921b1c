// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/rows.h"

#include "analysis/export/event_sink.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::analysis::trace_export {

// The rows of one rank to show, each with its real length if it exceeds 32 bits.
struct RankRows {
  int rank = 0;
  std::vector<trace::SpanRow> spans;
  std::vector<trace::CopyRow> copies;
  std::vector<trace::ApiRow> calls;
  std::vector<trace::SynchronizationRow> synchronizations;
  std::vector<trace::OverheadRow> overheads;
  std::vector<trace::RangeRow> ranges;
  std::vector<trace::NcclChannelRow> nccl_channels;
  std::vector<trace::NcclStepRow> nccl_steps;
  std::vector<trace::NcclNetworkRow> nccl_network;
  // Rows to show, and all rows of the trial that are needed to find related ones.
  std::vector<trace::KernelRow> kernels;
  std::vector<trace::OperationRow> operations;
  std::vector<trace::NcclOperationRow> nccl_operations;
  std::vector<trace::CommunicatorRow> communicators;
  std::vector<trace::StreamRow> streams;
  std::vector<trace::LongRow> long_durations;
};

// How a rank's times are converted to the picture's.
struct Alignment {
  // ns since the picture's origin, from the rank's own clock and from its GPU's globaltimer;
  // nothing: that clock was not compared.
  std::function<std::optional<std::int64_t>(std::uint64_t)> of_host, of_gpu;
  std::int64_t from_ns = 0; // only rows that overlap this window, in the picture's time
  std::int64_t until_ns = INT64_MAX;
};

using TextOf = std::function<std::string_view(trace::TextId)>;
// Bytes that an operation of the schedule moves on this rank; 0: unknown.
using BytesOf = std::function<std::uint64_t(const trace::OperationRow&)>;

// A host is a process of the picture; the lines of its ranks are consecutive.
struct HostPicture {
  int process = 0; // from 1
  std::string name;
  int next_track = 1; // the sink gets the process with its first rank
};

// Passes everything about a rank to the sink: lines for its process's activity, the NVTX ranges of
// each thread, each stream and channel; flows between the ranks' parts of a collective and both
// sides of a message; counters of the bytes in flight. Returns the number of slices.
std::size_t add_rank(const RankRows& rows, const Alignment& alignment, const TextOf& text_of,
                     const BytesOf& bytes_of, HostPicture& host, EventSink& sink);

// Flow id of a collective's parts on all ranks: equal for the same one, never 0. From communicator,
// function and sequence number if NCCL reported them, else from cell, batch, iteration and
// operation.
std::uint64_t flow_of(std::uint64_t communicator, std::string_view function,
                      std::uint64_t sequence);
std::uint64_t flow_of(const trace::OperationRow& operation);
// Flow id of both sides of a message; ranks are the communicator's.
std::uint64_t flow_of_message(std::uint64_t communicator, int from, int to, std::uint64_t number);

} // namespace ncclprobe::analysis::trace_export
