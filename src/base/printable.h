// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Makes text from files, tools and other machines safe for a terminal. Unsafe text: control
// characters, which a terminal obeys; characters that reorder or hide text (bidirectional controls,
// characters without width, line separators); and invalid UTF-8, which some terminals read as
// control characters of the second block. Needs only the C++ runtime, because NCCL's plugin uses it
// too.
namespace ncclprobe::base {

// One character of a text.
struct Character {
  std::size_t bytes = 1;
  char32_t code = 0;
  bool is_utf8 = true; // otherwise it is one byte, and `code` is its value
  bool is_safe() const;
};
// The character at `at`, which must be within the text.
Character character_at(std::string_view text, std::size_t at);

// Replaces unsafe characters by "\u001b", or "\x9b" for invalid UTF-8. Line feeds (also after a
// carriage return, as in CSV) and tabs stay. JSON keeps its meaning.
std::string escape_unsafe(std::string_view text);

// A value on one line: removes colours and other escape sequences; a tab becomes a blank, any other
// unsafe character '?'.
std::string printable(std::string_view text);

} // namespace ncclprobe::base
