// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

// The only way to standard output and standard error, which an architecture test enforces. Output
// for people contains names and messages from other files and machines, in hundreds of places. It
// is therefore made safe here, for all of them (escape_unsafe() in printable.h). JSON keeps its
// meaning.
namespace ncclprobe::base {

enum class StandardStream { out, err };

// All of `text`, in one write. False, with errno, if it cannot be written.
bool print(StandardStream stream, std::string_view text);

// To standard error, from a signal handler (signal-safety(7)). Nothing can be escaped there:
// `safe_text` must be the program's own text, or have passed escape_unsafe().
void print_in_signal_handler(std::string_view safe_text);

// Like print(), as a C++ stream, for text in pieces. std::flush writes it.
std::ostream& console(StandardStream stream);

bool is_terminal(StandardStream stream);
// How wide text for people may be on standard output: as the terminal, within 80 and 120; 100 in
// files and pipes.
int text_columns();
// On standard error, a terminal: in place of the line that the cursor stands in, cut to its width.
// Whatever is printed next erases it first; an empty text only erases.
void redraw_line(std::string_view text);

// Lines from the second on begin with a blank, so no line of a message looks like a message of
// its own.
std::string hanging(std::string_view text);

} // namespace ncclprobe::base
