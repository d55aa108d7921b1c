// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workload/nccl_values.h"

// How NCCL reads the values of variables that are numbers or switches.
namespace ncclprobe::workload {

Judgement judge_integer(const model::Setting& setting, const Variable& variable, int version);
// For ValueKind::flag in releases that no longer read it as an integer.
Judgement judge_flag(const model::Setting& setting);

} // namespace ncclprobe::workload
