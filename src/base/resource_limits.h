// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

// This process's limits (`ulimit`), as hints in error messages.
namespace ncclprobe::base {

// "`ulimit -f` allows files of at most 1.0 KiB"; empty without such a limit. Likewise for the
// others.
std::string file_size_limit();
std::string memory_limit();
std::string process_limit();

// The error for an exception that only says that memory, threads or processes ran out (code
// unavailable, with the limit as hint). Nothing for any other exception.
std::optional<Error> shortage_behind(const std::exception& error);
// Its message, or else the exception's own text.
std::string words_of(const std::exception& error);

// This process's use of address space.
std::uint64_t address_space_bytes();

// Errors: unavailable if `ulimit -v` leaves so little that libraries would crash, as HDF5 does
// without memory.
Result<void> check_memory_limit();

} // namespace ncclprobe::base
