// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::analysis {

// Finds many words in one pass over a text (Aho-Corasick), letters in either case. A line break is
// in no word, so that a hit lies within a line.
class LiteralScanner {
public:
  // The words in lower case, none empty.
  explicit LiteralScanner(const std::vector<std::string>& words);

  // The end of the first occurrence of any word in the text; npos if there is none.
  std::size_t find(std::string_view text) const;
  // The numbers of all words in the text, ascending.
  std::vector<int> all_in(std::string_view text) const;

private:
  // The row of a state begins at state x columns_; states at which a word ends come last, so that
  // one comparison tells them.
  std::vector<std::uint32_t> next_;
  std::array<std::uint8_t, 256> column_{};
  std::uint32_t first_hit_ = 0; // rows from here on are hits
  std::size_t columns_ = 1;
  std::vector<std::vector<int>> words_at_; // of each hit, in order of states
};

} // namespace ncclprobe::analysis
