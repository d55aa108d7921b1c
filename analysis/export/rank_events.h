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

// The rows of one rank that are to be shown, each with its real length where that is more than 32
// bits hold.
struct RankRows {
  int rank = 0;
  std::vector<trace::SpanRow> spans;
  std::vector<trace::CopyRow> copies;
  std::vector<trace::ApiRow> calls;
  std::vector<trace::SynchronizationRow> synchronizations;
  std::vector<trace::OverheadRow> overheads;
  std::vector<trace::NcclChannelRow> nccl_channels;
  std::vector<trace::NcclStepRow> nccl_steps;
  std::vector<trace::NcclNetworkRow> nccl_network;
  // To be shown, and what is needed to tell what belongs together: all of the trial.
  std::vector<trace::KernelRow> kernels;
  std::vector<trace::OperationRow> operations;
  std::vector<trace::NcclOperationRow> nccl_operations;
  std::vector<trace::CommunicatorRow> communicators;
  std::vector<trace::StreamRow> streams;
  std::vector<trace::LongRow> long_durations;
};

// How a rank's times become those of the picture.
struct Alignment {
  // ns since the moment that times count from, of the rank's own clock and of its GPU's
  // globaltimer; nothing: that clock was never compared.
  std::function<std::optional<std::int64_t>(std::uint64_t)> of_host, of_gpu;
  std::int64_t from_ns = 0; // only what overlaps this window, in the picture's time
  std::int64_t until_ns = INT64_MAX;
};

using TextOf = std::function<std::string_view(trace::TextId)>;
// What an operation of the schedule moves on this rank; 0: not known.
using BytesOf = std::function<std::uint64_t(const trace::OperationRow&)>;

// A host is a process of the picture; the lines of its ranks follow each other there.
struct HostPicture {
  int process = 0; // from 1
  std::string name;
  int next_track = 1; // the sink hears of the process with its first rank
};

// Gives the sink all of a rank: lines for what its process did, each stream and channel, flows
// between the ranks' parts of a collective and both sides of a message, counters of the bytes in
// flight. Returns the number of slices.
std::size_t add_rank(const RankRows& rows, const Alignment& alignment, const TextOf& text_of,
                     const BytesOf& bytes_of, HostPicture& host, EventSink& sink);

// Where a collective's parts on all ranks meet: equal for the same one, never 0. By communicator,
// function and sequence number if NCCL told, else by cell, batch, iteration and operation.
std::uint64_t flow_of(std::uint64_t communicator, std::string_view function,
                      std::uint64_t sequence);
std::uint64_t flow_of(const trace::OperationRow& operation);
// Where both sides of a message meet; ranks are the communicator's.
std::uint64_t flow_of_message(std::uint64_t communicator, int from, int to, std::uint64_t number);

} // namespace ncclprobe::analysis::trace_export
