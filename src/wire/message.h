// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/inventory.h"
#include "model/record.h"
#include "model/survey.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// Messages between supervisor and worker over one inherited descriptor. A frame is a fixed header
// (magic, version, type, global rank, length) and a payload: the body's fields (packing.h).
namespace ncclprobe::wire {

inline constexpr std::uint16_t k_protocol_version = 7;
inline constexpr int k_channel_fd = 3; // in the worker

// Exchanges of all ranks at which the supervisors may make everybody wait. At this one, libraries
// and driver have started, but nothing was created on a device, which would disturb others even
// when idle: the workers of the next trial wait here for their turn.
inline constexpr const char* k_turn_key = "turn";
// Connected, nothing launched yet: passed when no other process of the run uses a device.
inline constexpr const char* k_measure_key = "measure";
// All requested work is done: from here on a process may end without destroying its objects.
inline constexpr const char* k_leave_key = "leave";

// Worker -> supervisor, first frame.
struct Hello {
  std::uint16_t protocol = k_protocol_version;
  std::string version; // ncclprobe's
  int pid = 0;
};
NCCLPROBE_FIELDS(Hello, protocol, version, pid)

struct RankDevice {
  int rank = 0;   // global
  int device = 0; // index on its host
};
NCCLPROBE_FIELDS(RankDevice, rank, device)

// Supervisor -> worker: the trial.
struct Start {
  model::TrialSpec spec;
  std::vector<RankDevice> ranks; // what this worker drives
  std::vector<int> host_of_rank; // host number by global rank
  std::string spool;             // file for the trace, if the trial is traced
};
NCCLPROBE_FIELDS(Start, spec, ranks, host_of_rank, spool)

// How far a rank has come, in order. Workers report `ready` to `cell`. The supervisor concludes the
// others: Hello is `started`, Done is `teardown`, and the end of the process is `done`.
enum class WorkerPhase {
  spawned,
  started,
  ready, // its device is open
  communicator_init,
  connected,
  cell,
  teardown,
  done,
};

// Worker -> supervisor: progress. `cell` is -1 outside cells.
struct Phase {
  WorkerPhase phase = WorkerPhase::ready;
  int cell = -1;
};
NCCLPROBE_FIELDS(Phase, phase, cell)

// Both ways. Up: this worker's contributions; down: those of all members, in their order.
struct Exchange {
  std::string key;
  std::vector<int> members;                 // global ranks
  std::map<int, std::string> contributions; // opaque bytes by global rank
};
NCCLPROBE_FIELDS(Exchange, key, members, contributions)

// Worker -> supervisor: one rank's result of one cell.
struct CellEnd {
  int cell = 0;
  model::CellRecord result; // samples, conditions and marks of the frame's rank
};
NCCLPROBE_FIELDS(CellEnd, cell, result)

// Worker -> supervisor: the trial cannot continue in this process; it exits next.
struct Failure {
  model::Outcome outcome;
  int cell = -1;
  bool peer_ended = false; // only a consequence of what happened to another rank
};
NCCLPROBE_FIELDS(Failure, outcome, cell, peer_ended)

// Worker -> supervisor: all cells are over; teardown is next.
struct Done {};
NCCLPROBE_FIELDS(Done)

// Worker -> supervisor, from `--inventory`.
struct Inventory {
  model::HostInventory host;
};
NCCLPROBE_FIELDS(Inventory, host)

// Worker -> supervisor, from `--survey`.
struct Survey {
  model::Survey survey;
};
NCCLPROBE_FIELDS(Survey, survey)

// Worker -> supervisor, before Done: the evidence of a companion trial's rank.
struct Evidence {
  model::Evidence evidence;
};
NCCLPROBE_FIELDS(Evidence, evidence)

// Supervisor -> worker: where are you? Sent after a deadline has passed. The thread that reads the
// channel answers, even if all others are stuck.
struct Where {};
NCCLPROBE_FIELDS(Where)

// Worker -> supervisor, the answer.
struct Position {
  std::string position; // "launch 12 of 20 of batch 3"
  std::string
      stack; // of the main thread, innermost first, one frame per line; empty: not available
};
NCCLPROBE_FIELDS(Position, position, stack)

// Worker -> supervisor, once connected, and again before Done if there is news: the libraries, CPUs
// and memory of this process (model::WorkerRecord).
struct Loaded {
  std::vector<model::Library> libraries;
  std::string cpus;
  std::vector<model::MemoryUse> memory;
};
NCCLPROBE_FIELDS(Loaded, libraries, cpus, memory)

using Body = std::variant<Hello, Start, Phase, Exchange, CellEnd, Failure, Done, Inventory,
                          Evidence, Where, Position, Survey, Loaded>;

struct Message {
  int rank = -1; // global rank it speaks for; -1 = the whole process
  Body body;
};

// One frame, header included.
std::string encode(const Message& message);

// Splits a byte stream into frames.
class Decoder {
public:
  Decoder() = default;
  // Replaces these secrets in every text, but not in the opaque bytes of an exchange.
  explicit Decoder(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {}
  void feed(const char* data, std::size_t size);
  // The next complete message; nullopt if more bytes are needed. Errors (protocol): wrong magic or
  // version, too long a frame (1 GiB), an invalid payload. After an error the stream is unusable.
  Result<std::optional<Message>> next();

private:
  std::string pending_;
  std::size_t read_ = 0;
  std::vector<std::string> secrets_;
};

} // namespace ncclprobe::wire
