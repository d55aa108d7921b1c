// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/document_kind.h"
#include "analysis/diagnosis/driver_event.h"
#include "analysis/diagnosis/line_kinds.h"
#include "analysis/diagnosis/log_findings.h"
#include "analysis/diagnosis/log_patterns.h"

#include <string>
#include <string_view>
#include <unordered_map>

namespace ncclprobe::analysis {

// Reads a log of any size, piece by piece, in little memory. Handles any bytes: endless lines are
// examined in pieces, and endless repetitions are skipped.
class LogScanner {
public:
  explicit LogScanner(const LogPatterns& patterns);

  void feed(std::string_view piece);
  // Feed nothing afterwards.
  LogFindings finish();

private:
  void try_as_text(std::string_view piece);
  void scan(std::string_view whole_lines);
  void look_at(std::string_view line, std::uint64_t number);
  // The results for lines with these words, which occurred so often that another one needs no
  // examination.
  struct Memory {
    LogPatterns::LineVerdict verdict;
    std::uint64_t lines = 0;
  };
  Memory judge(std::string_view body);
  void note(const LogLine& line, std::uint64_t number);
  void note_driver_event();
  void note_place(const LogLine& line, std::uint64_t number);
  void note_communicator(const LogLine& line);
  void note_connection(const LogLine& line, std::uint64_t number);
  void note_timed_out_work(const LogLine& line, std::uint64_t number);
  void note_version(const LogLine& line, std::uint64_t number);
  void note_unknown(const LogLine& line, std::uint64_t number);

  const LogPatterns& patterns_;
  LineKinds kinds_;
  DriverEvent driver_event_;
  LogFindings findings_;
  DocumentSigns document_signs_;
  std::string tail_;               // the incomplete line
  std::uint64_t lines_before_ = 0; // complete ones, scanned
  std::unordered_map<std::string, int> rank_of_process_;
  std::unordered_map<std::string, std::size_t> unknown_by_shape_;
  std::unordered_map<std::string, Memory> memory_; // by words
  std::uint64_t launcher_verdict_line_ = 0;
  std::string communicator_; // the first one in the log
  bool several_communicators_ = false;
};

} // namespace ncclprobe::analysis
