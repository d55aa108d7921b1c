// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_line.h"
#include "knowledge/error_entries.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What a log says, before anything is concluded from it.
namespace ncclprobe::analysis {

// A line that shows something.
struct LogEvidence {
  std::uint64_t line = 0; // from 1
  std::optional<int> rank;
  std::string host;
  std::optional<int> gpu;
  std::optional<LogTime> time;
  std::string text; // printable, shortened
};

// One entry of the knowledge base that was seen.
struct LogProblem {
  const knowledge::ErrorEntry* entry = nullptr;
  bool weak = true; // only by expressions that fit other problems too
  std::uint64_t lines = 0;
  bool exact = true; // false: there were so many that later ones were judged by their words alone
  std::vector<LogEvidence> first;           // the first few, in order of lines
  std::map<int, LogEvidence> first_of_rank; // where the rank is known
};

// A line that speaks of an error that no entry knows. Lines that differ only in numbers are one.
struct UnknownError {
  LogEvidence first;
  std::uint64_t lines = 0;
};

// A rank's own word of how far its collectives are ("last enqueued work: 1240").
struct RankProgress {
  std::uint64_t enqueued = 0;
  LogEvidence evidence;
};

// What a log says of the way from one rank's GPU to another's.
struct LogConnection {
  std::string way;          // "SHM/direct/direct", "NET/IB/0"; the first that was said
  std::string sending_host; // that says so; empty: no line of this end
  std::string receiving_host;
  std::uint64_t line = 0; // the first
};

struct LogFindings {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  std::uint64_t bytes_tried = 0;   // at the beginning, behind any NULs, for what follows
  std::uint64_t bytes_no_text = 0; // control characters that no log has
  std::string document; // what it is instead of a log: "a Markdown document"; empty: may be a log
  std::vector<LogProblem> problems; // in order of their first line
  std::vector<UnknownError> unknown;
  std::uint64_t unknown_lines = 0;
  std::map<int, RankProgress> progress;         // by rank
  std::map<int, LogEvidence> named_by_launcher; // ranks that torchrun calls the first failure
  int world_size = 0;                           // 0: not told
  int nodes = 0;                                // likewise: of the largest communicator
  // That the log tells of; of several, equal numbers of ranks need not be equal ranks.
  bool one_communicator = false;
  // Other than direct ones (P2P), by sending and receiving rank.
  std::map<std::pair<int, int>, LogConnection> indirect_connections;

  // What is packed or a program is not: a tenth of evenly spread bytes are control characters.
  bool is_text() const { return bytes_tried > 0 && bytes_no_text * 50 <= bytes_tried; }
};

} // namespace ncclprobe::analysis
