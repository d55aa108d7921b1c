// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/literal_scanner.h"
#include "knowledge/error_entries.h"

#include <memory>
#include <string_view>
#include <vector>

namespace ncclprobe::analysis {

// Of each alternative of an expression the longest run of plain letters, in lower case: a text that
// has none of them does not match. Groups are not looked into.
std::vector<std::string> needed_words(std::string_view expression);

// The expressions of the knowledge base, ready to be tried on lines: a line is looked at closely
// only if it has a word that one of them needs.
class LogPatterns {
public:
  explicit LogPatterns(
      const std::vector<knowledge::ErrorEntry>& entries = knowledge::error_entries());
  ~LogPatterns();
  LogPatterns(LogPatterns&&) noexcept;

  // The end of the first word in the text that makes its line worth a look; npos if there is none.
  std::size_t find_candidate(std::string_view text) const;

  struct Hit {
    const knowledge::ErrorEntry* entry = nullptr;
    bool weak = false;
  };
  struct LineVerdict {
    std::vector<Hit> hits;   // of strong ones only, if there are any
    bool suspicious = false; // no hit, but it speaks of an error
  };
  // Of one line, without its prefix (rank label, time, NCCL's "host:pid:tid [gpu]"): the words that
  // expressions need, by number, and what the expressions say. Lines with the same words are alike.
  std::vector<int> words_in(std::string_view body) const;
  LineVerdict judge(std::string_view body, const std::vector<int>& words) const;

private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

} // namespace ncclprobe::analysis
