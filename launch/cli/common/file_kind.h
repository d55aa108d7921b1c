// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <string>

namespace ncclprobe::cli {

// What ncclprobe wrote there, as its beginning shows. A run that was never folded has no file yet.
enum class FileKind { other, run, topology, examination };
FileKind kind_of_file(const std::string& file);

// The error of a command that could not read the file. If another command could, the hint names it.
base::Error with_right_command(base::Error error, const std::string& file);

} // namespace ncclprobe::cli
