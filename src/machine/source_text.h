// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/printable.h"

#include <string>
#include <string_view>
#include <vector>

// Common parts of the readers of other programs' files.
namespace ncclprobe::topology {

// Topology files have some kilobytes; a file of a hundred hosts has some megabytes.
inline constexpr std::size_t k_most_file_bytes = std::size_t{64} << 20;

// Errors: invalid_argument if the text is empty, too long or binary.
Result<void> check_text(std::string_view text, const std::string& name);

// Windows programs write three bytes at the start that mean "UTF-8".
std::string_view without_byte_order_mark(std::string_view text);

// The line of a position, counted from one.
std::size_t line_at(std::string_view text, std::size_t position);

// Without carriage returns and terminal escape codes ("\033[4m" underlines nvidia-smi's headings).
std::vector<std::string> plain_lines(std::string_view text);

// Without blanks around it.
std::string_view trimmed(std::string_view text);

// "file:12: what is wrong", with invalid_argument. Quoted parts of the file are made printable.
template <typename... Args>
tl::unexpected<Error> fail_at(const std::string& name, std::size_t line,
                              fmt::format_string<Args...> text, Args&&... args) {
  return fail(Error{Errc::invalid_argument,
                    fmt::format("{}:{}: {}", name, line,
                                base::printable(fmt::format(text, std::forward<Args>(args)...))),
                    {}});
}

} // namespace ncclprobe::topology
