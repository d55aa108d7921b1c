// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_line.h"
#include "knowledge/log_causes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// A log's contents, before any conclusions.
namespace ncclprobe::analysis {

// A line as evidence.
struct LogEvidence {
  std::uint64_t line = 0; // from 1
  std::optional<int> rank;
  std::string host;
  std::optional<int> gpu;
  std::optional<LogTime> time;
  std::string text; // printable, shortened
};

// Limits on what is stored about a problem.
inline constexpr std::size_t k_first_evidence = 4;
inline constexpr std::size_t k_most_ranks = 8192;

LogEvidence evidence_of(const LogLine& line, std::uint64_t number);

// A cause that lines show.
struct LogProblem {
  const knowledge::LogCause* cause = nullptr;
  bool certain = false; // false: only by words that also match other causes
  knowledge::CauseSeverity severity = knowledge::CauseSeverity::info;
  std::string transport; // transport that it explains: "SHM", "NET"; usually none
  std::uint64_t lines = 0;
  bool exact = true; // false: too many of them, so later ones were judged only by their words
  std::vector<LogEvidence> first;           // the first few, in order of lines
  std::map<int, LogEvidence> first_of_rank; // if the rank is known

  // A cause that is only possible is at most a warning.
  knowledge::CauseSeverity weight() const {
    return certain ? severity : std::min(severity, knowledge::CauseSeverity::warn);
  }
};
// Merges the lines of both, for one cause.
void add(const LogProblem& more, LogProblem& problem);

// A line about an error without a known cause. Lines that differ only in numbers are combined.
struct UnknownError {
  LogEvidence first;
  std::uint64_t lines = 0;
};

// A rank's own report of its progress ("last enqueued work: 1240").
struct RankProgress {
  std::uint64_t enqueued = 0;
  LogEvidence evidence;
};

// The collective that a rank waited for when its watchdog gave up.
struct TimedOutWork {
  std::string group; // process group, as PyTorch numbers it; empty: unknown
  std::string what;  // "SeqNum=1580, OpType=ALLREDUCE, NumelIn=4096"
  LogEvidence evidence;
};

// The log's data about the transport between two ranks' GPUs.
struct LogConnection {
  std::string transport;    // "SHM/direct/direct", "NET/IB/0"; the first one in the log
  std::string sending_host; // host of this line; empty: this end has no line
  std::string receiving_host;
  std::uint64_t line = 0; // the first
};

struct LogFindings {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t bytes_tried = 0;   // at the beginning, after any NULs, to detect the format
  std::uint64_t bytes_no_text = 0; // control characters that no log has
  std::string document; // another kind of document: "a Markdown document"; empty: may be a log
  std::vector<LogProblem> problems; // each cause once, in order of their first line
  std::vector<UnknownError> unknown;
  std::uint64_t unknown_lines = 0;
  std::map<int, RankProgress> progress;             // by rank
  std::map<int, TimedOutWork> timed_out;            // the first of each rank
  std::map<std::string, LogEvidence> nccl_versions; // versions that ranks report, each once
  std::map<int, LogEvidence> named_by_launcher;     // ranks that torchrun calls the first failure
  bool nccl_tells = false;                          // NCCL_DEBUG is INFO or more
  int world_size = 0;                               // 0: unknown
  int nodes = 0;                                    // 0: unknown; of the largest communicator
  // In the log; with several, equal rank numbers need not be the same ranks.
  bool one_communicator = false;
  // Other than direct ones (P2P), by sending and receiving rank.
  std::map<std::pair<int, int>, LogConnection> indirect_connections;

  // Pairs of ranks on one host whose GPUs could access each other, but whose data goes through host
  // memory ("SHM") or over the network ("NET").
  std::vector<std::pair<std::pair<int, int>, LogConnection>>
  detours_within_a_host(std::string_view transport) const;

  // Compressed data and programs are not text: a tenth of evenly distributed bytes are control
  // characters.
  bool is_text() const { return bytes_tried > 0 && bytes_no_text * 50 <= bytes_tried; }
};

// "2 pairs of ranks on one host: 0->1, 2->3 (via SHM)"; there must be some.
LogEvidence evidence_of_detours(const LogFindings& findings, std::string_view transport);

} // namespace ncclprobe::analysis
