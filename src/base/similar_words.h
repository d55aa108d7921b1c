// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

// Words as people type them: in upper or lower case, and misspelt.
namespace ncclprobe::base {

bool same_word(std::string_view a, std::string_view b);

// Counts letters to insert, drop or replace, and neighbours to swap.
std::size_t edits_between(std::string_view a, std::string_view b);

// The candidate that was probably meant: the one with the fewest edits (at most one in three
// letters), or one that begins with the word or is its beginning. Empty if none is close.
std::string_view most_similar(std::string_view word, std::span<const std::string_view> candidates);

} // namespace ncclprobe::base
