// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/history.h"
#include "analysis/report_value/report_value.h"

#include <memory>

namespace ncclprobe::analysis::compare {

// All changes as a table; the series of all cells for machines. CSV: a row per run and cell.
Report history_report(std::shared_ptr<const History> history);

} // namespace ncclprobe::analysis::compare
