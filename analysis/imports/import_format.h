// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/imports/imported_run.h"

#include <string_view>
#include <vector>

namespace ncclprobe::analysis::imports {

// The format of a text. Errors: invalid_argument, naming what was looked for.
Result<model::ImportFormat> format_of(std::string_view text);

// A file as it was read.
struct ImportText {
  std::string path;
  model::ImportFormat format = model::ImportFormat::nccl_tests_text;
  std::string text;
};

// Reads all files. Those of NCCL Inspector are the processes of one job, so they become one
// process, of the first of them; the others have none. Errors: those of the readers, with the
// file's name.
Result<std::vector<ImportedInput>> read_inputs(const std::vector<ImportText>& files,
                                               const ImportHints& hints);

} // namespace ncclprobe::analysis::imports
