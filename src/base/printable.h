// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text from files, tools and other machines, made safe for a terminal. Unsafe is whatever a
// terminal obeys instead of showing it (control characters), whatever reorders or hides what it
// shows (bidirectional controls, characters without width, line separators), and bytes that are no
// UTF-8, which some terminals read as control characters of the second block. Needs nothing but the
// C++ runtime, as NCCL's plugin has it too.
namespace ncclprobe::base {

// One character of a text.
struct Character {
  std::size_t bytes = 1;
  char32_t code = 0;
  bool is_utf8 = true; // otherwise it is one byte, and `code` is its value
  bool is_safe() const;
};
// The character that begins at `at`, which is within the text.
Character character_at(std::string_view text, std::size_t at);

// Unsafe characters as "\u001b", and as "\x9b" where they are no UTF-8. Line feeds (also after a
// carriage return, as in CSV) and tabs stay. What is escaped in JSON means the same as before.
std::string escape_unsafe(std::string_view text);

// A value on one line: colours and other escape sequences are left out, a tab becomes a blank, any
// other unsafe character '?'.
std::string printable(std::string_view text);

} // namespace ncclprobe::base
