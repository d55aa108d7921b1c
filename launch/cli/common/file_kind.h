// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <string>

namespace ncclprobe::cli {

// The kind of a file, by its beginning. An unfolded run has no file yet.
enum class InputKind { other, run, topology, examination };
InputKind kind_of_file(const std::string& file);

// Adds a hint to the error of a command that could not read the file, if another command can.
base::Error with_right_command(base::Error error, const std::string& file);

} // namespace ncclprobe::cli
