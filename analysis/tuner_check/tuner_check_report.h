// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/tuner_check/row_check.h"

#include <filesystem>
#include <vector>

namespace ncclprobe::analysis {

// The rows of a table with what becomes of each, and the variable by which a job takes the table.
// `path`: of the table. `checks`: what check_rows() made of this evidence.
Report tuner_check_report(const std::filesystem::path& path, const tuning::TableFile& file,
                          const RowEvidence& evidence, std::vector<RowCheck> checks);

} // namespace ncclprobe::analysis
