// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/record/record_command.h"

#include <functional>

namespace ncclprobe::cli {

// Becomes the command, recorded into the folder; returns an exit code only if it cannot start.
using BecomeRecorded =
    std::function<int(const std::filesystem::path& folder, std::vector<std::string> command)>;
// Makes the folder of one run. Errors: as make_capture_folder()'s.
using PrepareFolder = std::function<Result<void>(const std::filesystem::path& folder)>;

// `ncclprobe record --verify`: runs the job without and with the settings, in turns, each time in a
// folder of its own, and says whether they keep their promise.
int verify_command(const RecordOptions& options, const PrepareFolder& prepare,
                   const BecomeRecorded& become);

} // namespace ncclprobe::cli
