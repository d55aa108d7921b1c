// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/described.h"
#include "base/error.h"
#include "launch/supervisor/fleet.h"
#include "launch/supervisor/trial_report.h"
#include "wire/message.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

// The messages between supervisors, as the content of a Fleet's ReceivedMessage. `trial` is the
// leader's running number: a message that arrives after its trial is dropped.
namespace ncclprobe::launch {

// Leader -> all.
struct TrialOrder {
  std::string spec; // JSON
};
NCCLPROBE_FIELDS(TrialOrder, spec)
// The trial that will most likely be ordered next, under the message's number.
struct Prepare {
  std::string spec; // JSON, identical byte for byte to the order that follows
};
NCCLPROBE_FIELDS(Prepare, spec)
enum class Haste { normal, fast };
// Whether the workers are first asked where they are.
enum class Ask { no, yes };
struct StopOrder {
  Haste haste = Haste::normal;
  Ask ask = Ask::no;
};
NCCLPROBE_FIELDS(StopOrder, haste, ask)
struct Release {};
NCCLPROBE_FIELDS(Release)
struct ExchangeWhole {
  wire::Exchange exchange;
};
// Others have waited for you beyond your deadline: are you still there?
struct HeartbeatRequest {};
NCCLPROBE_FIELDS(HeartbeatRequest)

// Before a traced trial: all compare their clocks now.
struct CompareClocks {};
NCCLPROBE_FIELDS(CompareClocks)
// After a traced trial has ended everywhere: its spools are complete.
struct TraceOver {
  std::string spec; // JSON
};
NCCLPROBE_FIELDS(TraceOver, spec)

// Requests the bytes of a trace file from `offset` on. DropFile says that all bytes have arrived.
struct SendPiece {
  std::string file;
  std::uint64_t offset = 0;
};
NCCLPROBE_FIELDS(SendPiece, file, offset)
struct DropFile {
  std::string file;
};
NCCLPROBE_FIELDS(DropFile, file)

// In both directions: still at work on what the other waits for (heartbeats.h).
struct Heartbeat {};
NCCLPROBE_FIELDS(Heartbeat)

// All -> leader.
struct ExchangePart {
  wire::Exchange exchange; // contributions of all members that this supervisor has
};
// On the way, thousands of members are a few runs of ranks, and equal contributions are one.
void write_as(base::Writer& out, const ExchangeWhole& whole);
void read_as(base::Reader& in, ExchangeWhole& whole);
void write_as(base::Writer& out, const ExchangePart& part);
void read_as(base::Reader& in, ExchangePart& part);
struct ProgressNote {
  int cells_done = 0;                       // on all its ranks
  WorkerPhase phase = WorkerPhase::spawned; // of its slowest rank
  auto operator<=>(const ProgressNote&) const = default;
};
NCCLPROBE_FIELDS(ProgressNote, cells_done, phase)
struct Finished {}; // all ranks have their results; only teardown is left
NCCLPROBE_FIELDS(Finished)
struct TraceStored {              // the answer to TraceOver
  std::vector<std::string> files; // that were made
};
NCCLPROBE_FIELDS(TraceStored, files)
struct FilePiece { // to SendPiece
  std::string file;
  std::uint64_t offset = 0;
  std::string bytes;
  bool last = false;
  std::string problem; // why there are no bytes
};
NCCLPROBE_FIELDS(FilePiece, file, offset, bytes, last, problem)

using MessageBody =
    std::variant<TrialOrder, StopOrder, Release, ExchangeWhole, ExchangePart, ProgressNote, Trouble,
                 TrialReport, Prepare, Finished, CompareClocks, TraceOver, TraceStored, SendPiece,
                 DropFile, FilePiece, HeartbeatRequest, Heartbeat>;

constexpr int k_whole_run = 0; // in place of a trial's number: no more trials follow

struct SupervisorMessage {
  int trial = k_whole_run;
  MessageBody body;
};
NCCLPROBE_FIELDS(SupervisorMessage, trial, body)

std::string encode(const SupervisorMessage& message);
// For the way up the tree: what differs from rank to rank is in the parts, the rest is the same
// bytes for all, and becomes one message.
Report make_report(int supervisor, SupervisorMessage message);
// The reverse, for a message of one or more supervisors.
void put_parts_back(SupervisorMessage& message, const Parts& parts);
// Errors: protocol (supervisors of different builds).
Result<SupervisorMessage> decode_supervisor_message(std::string_view bytes);

} // namespace ncclprobe::launch
