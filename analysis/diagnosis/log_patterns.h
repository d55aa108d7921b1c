// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/log_causes.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ncclprobe::analysis {

// Position after the closing bracket that matches the one at `at`.
std::size_t behind_group(std::string_view expression, std::size_t at);

// For each alternative of an expression, the longest run of plain letters, in lower case: a text
// without any of them cannot match. Groups are not examined.
std::vector<std::string> needed_words(std::string_view expression);

// The signs of all causes. A line is examined closely only if it has a word that one of the
// expressions needs. Expressions are compiled at their first use, because few ever are: not for
// several threads at once.
class LogPatterns {
public:
  explicit LogPatterns(const std::vector<knowledge::LogCause>& causes = knowledge::log_causes());
  ~LogPatterns();
  LogPatterns(LogPatterns&&) noexcept;

  // The end of the first word in the text that makes its line relevant; npos if there is none.
  // Words have no line breaks, so it lies within a line.
  std::size_t find_candidate(std::string_view text) const;

  struct Sign {
    const knowledge::LogCause* cause = nullptr;
    const knowledge::LogSign* sign = nullptr;
    // Numbers of the contexts that `with` and `without` name; -1: none.
    int with = -1;
    int without = -1;
  };
  const std::vector<Sign>& signs() const;
  // Lines that decide whether other lines show a cause have numbers below this.
  std::size_t context_count() const;
  // nullptr if there is no such cause.
  const knowledge::LogCause* cause(std::string_view id) const;

  struct LineVerdict {
    std::vector<int> signs; // signs of the line, ascending
    // The words of the first sign are a part of those of the second.
    std::vector<std::pair<int, int>> inside;
    std::vector<int> contexts; // contexts of the line
    bool suspicious = false;   // it mentions an error
    bool tells_place = false;  // about ranks, their progress, connections or versions
  };
  // For one line, without its prefix (rank label, time, NCCL's "host:pid:tid [gpu]"): the needed
  // words by number, and the expressions' results. Lines with the same words are alike.
  std::vector<int> words_in(std::string_view body) const;
  LineVerdict judge(std::string_view body, const std::vector<int>& words) const;

private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

} // namespace ncclprobe::analysis
