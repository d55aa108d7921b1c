// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/similar_words.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace ncclprobe::base {
namespace {

constexpr std::size_t k_letters_per_edit = 3;

bool same_letter(unsigned char a, unsigned char b) {
  return std::tolower(a) == std::tolower(b);
}

bool continues(std::string_view longer, std::string_view shorter) {
  return shorter.size() >= k_letters_per_edit && longer.size() > shorter.size() &&
         same_word(longer.substr(0, shorter.size()), shorter);
}

} // namespace

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_letter);
}

// Three rows of the usual table are enough: a swap looks back two letters.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t replaced = last[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

std::string_view most_similar(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view nearest;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / k_letters_per_edit) + 1;
  for (std::string_view candidate : candidates)
    if (std::size_t edits = edits_between(word, candidate);
        edits < fewest || (edits == fewest && !nearest.empty() && continues(candidate, word))) {
      fewest = edits;
      nearest = candidate;
    }
  if (nearest.empty())
    for (std::string_view candidate : candidates)
      if (continues(word, candidate) || continues(candidate, word))
        return candidate;
  return nearest;
}

} // namespace ncclprobe::base
