// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::analysis::timeline {

// The words of a range's name in small letters, without digits: "load_batch", "loadBatch 7" and
// "load batch" have the same. "DataLoader" has three: data, loader, dataloader.
std::vector<std::string> words_of_name(std::string_view name);

template <std::size_t N>
bool is_any_of(const std::string& word, const std::array<std::string_view, N>& known) {
  return std::ranges::find(known, word) != known.end();
}
template <std::size_t N>
bool has_any(const std::vector<std::string>& words, const std::array<std::string_view, N>& known) {
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return is_any_of(word, known); });
}

} // namespace ncclprobe::analysis::timeline
