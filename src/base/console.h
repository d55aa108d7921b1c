// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

// The only way to standard output and standard error: a test of the architecture sees to that. What
// people are shown holds names and messages from files and machines of others, and there are
// hundreds of places that show some. So it is made safe here, at the end, for all of them
// (escape_unsafe() in printable.h). JSON stays the JSON that it was.
namespace ncclprobe::base {

enum class Stream { out, err };

// All of `text`, at once. False, with errno, if it cannot be written.
bool print(Stream stream, std::string_view text);

// On standard error, from a handler of signals (signal-safety(7)). Nothing can be escaped there:
// `safe_text` must be the program's own words, or have passed escape_unsafe().
void print_in_signal_handler(std::string_view safe_text);

// The same as print() as a stream of C++, for text that is made piece by piece. It is written by
// std::flush.
std::ostream& console(Stream stream);

bool is_terminal(Stream stream);
// Of a terminal: in place of the line that the cursor stands in, cut to its width.
void redraw_line(Stream stream, std::string_view text);

// Lines from the second on begin with a blank, so that none of a message of several lines looks
// like a message by itself.
std::string hanging(std::string_view text);

} // namespace ncclprobe::base
